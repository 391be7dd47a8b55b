-- +goose Up

-- The name that the Shoot had when the event happened. Events of operations have it from their operation.
ALTER TABLE events ADD COLUMN shoot_name TEXT NOT NULL DEFAULT '';

-- +goose Down

ALTER TABLE events DROP COLUMN shoot_name;
