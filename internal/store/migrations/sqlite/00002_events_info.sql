-- +goose Up

-- What events_error is for the events of the other level: they are counted, and read in their order, without those between them.
CREATE INDEX events_info ON events (id) WHERE level = 'info';

-- +goose Down

DROP INDEX events_info;
