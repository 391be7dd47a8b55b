package home

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"

	"go.yaml.in/yaml/v3"
)

// ErrBroken is what the errors about contexts that are not understood are.
var ErrBroken = errors.New("the contexts are not understood")

// contextsFile holds the contexts.
const contextsFile = "contexts.yaml"

// Contexts returns the contexts; none when nothing was kept yet. A file that is not understood is an error that is
// ErrBroken and names it, and never taken for empty.
func (f Folder) Contexts() (Contexts, error) {
	contexts, _, err := f.readContexts()
	return contexts, err
}

// readContexts returns the contexts and the text that they were read from.
func (f Folder) readContexts() (Contexts, []byte, error) {
	data, err := f.Read(contextsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Contexts{}, nil, nil
	}
	if err != nil {
		return Contexts{}, nil, fmt.Errorf("read the contexts: %w", err)
	}
	contexts, err := parseContexts(data)
	if err != nil {
		return Contexts{}, nil, fmt.Errorf("%w: %s: %w", ErrBroken, f.Path(contextsFile), err)
	}
	return contexts, data, nil
}

func parseContexts(data []byte) (Contexts, error) {
	var contexts Contexts
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&contexts); err != nil && !errors.Is(err, io.EOF) {
		return Contexts{}, readable(err)
	}
	var rest yaml.Node
	switch err := decoder.Decode(&rest); {
	case errors.Is(err, io.EOF):
		return contexts, contexts.check(linesOf(data))
	case err != nil:
		return Contexts{}, readable(err)
	default:
		return Contexts{}, fmt.Errorf("line %d: a second document begins", rest.Line)
	}
}

// faults are the words of the YAML library about what does not fit, and what they mean to the one who writes the file.
var faults = []struct {
	pattern *regexp.Regexp
	words   string
}{
	{regexp.MustCompile(`^(line \d+): field (.+) not found in type .*$`), `$1: the key "$2" is not known`},
	{regexp.MustCompile(`^(line \d+): cannot unmarshal !!(\w+) .*$`), `$1: a value of the kind $2 does not fit here`},
}

// readable is an error of the YAML library without the names of types in the program.
func readable(err error) error {
	wrong, ok := errors.AsType[*yaml.TypeError](err)
	if !ok {
		return err
	}
	problems := make([]error, len(wrong.Errors))
	for i, text := range wrong.Errors {
		for _, fault := range faults {
			text = fault.pattern.ReplaceAllString(text, fault.words)
		}
		problems[i] = errors.New(text)
	}
	return errors.Join(problems...)
}

// lines tell where in the file something stands. Without a file they tell nothing.
type lines struct {
	current  int
	contexts []int
}

// linesOf finds the lines of a file that can be read.
func linesOf(data []byte) lines {
	var document yaml.Node
	if yaml.Unmarshal(data, &document) != nil || len(document.Content) == 0 {
		return lines{}
	}
	var found lines
	root := document.Content[0]
	if at := keyIndex(root, "current"); at >= 0 {
		found.current = root.Content[at].Line
	}
	if at := keyIndex(root, "contexts"); at >= 0 {
		for _, item := range root.Content[at+1].Content {
			found.contexts = append(found.contexts, item.Line)
		}
	}
	return found
}

// at puts a line before a text.
func at(line int, text string) string {
	if line == 0 {
		return text
	}
	return fmt.Sprintf("line %d: %s", line, text)
}

// ChangeContexts lets change work on the contexts and keeps the result. Other processes wait meanwhile. An error of change is returned as it is,
// and nothing is kept.
func (f Folder) ChangeContexts(ctx context.Context, change func(*Contexts) error) error {
	unlock, err := f.Lock(ctx, contextsFile)
	if err != nil {
		return fmt.Errorf("change the contexts: %w", err)
	}
	defer unlock()
	contexts, before, err := f.readContexts()
	if err != nil {
		return err
	}
	if err := change(&contexts); err != nil {
		return err
	}
	if err := contexts.check(lines{}); err != nil {
		return err
	}
	text, err := edited(before, &contexts)
	if err != nil {
		return fmt.Errorf("write the contexts: %w", err)
	}
	if err := f.Write(contextsFile, text); err != nil {
		return fmt.Errorf("write the contexts: %w", err)
	}
	return nil
}
