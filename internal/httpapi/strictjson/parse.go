package strictjson

import (
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxDepth is how many objects and lists may stand inside each other.
const MaxDepth = 32

// Kind is the type of a Value.
type Kind uint8

// The kinds of values.
const (
	Null Kind = iota
	Bool
	Number
	String
	List
	Object
)

// String returns the kind in words with an article.
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "true or false"
	case Number:
		return "a number"
	case String:
		return "a string"
	case List:
		return "a list"
	case Object:
		return "an object"
	default:
		return "kind(" + strconv.Itoa(int(k)) + ")"
	}
}

// Value is a part of a document.
type Value struct {
	// Kind says what the value is.
	Kind Kind
	// Path is where it stands.
	Path string
	// Text is the content of a string, and numbers, true and false as they are written.
	Text string

	items   []Value
	members []namedValue
}

type namedValue struct {
	name  string
	value Value
}

// Items returns the elements of a list.
func (v Value) Items() []Value { return v.items }

// Errorf returns an error about the value.
func (v Value) Errorf(format string, args ...any) error { return errorAt(v.Path, format, args...) }

// parse checks that data is one JSON document and takes it apart.
func parse(data []byte) (Value, error) {
	if !utf8.Valid(data) {
		return Value{}, errorAt("", "the body is not valid UTF-8")
	}
	if err := checkDepth(data); err != nil {
		return Value{}, err
	}
	if !json.Valid(data) {
		return Value{}, syntaxError(data)
	}
	p := parser{data: data}
	v, err := p.value("")
	if err != nil {
		return Value{}, err
	}
	return v, nil
}

// checkDepth refuses deep nesting before anything recurses over the document.
func checkDepth(data []byte) error {
	depth, inString := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return errorAt("", "is nested deeper than %d objects and lists (at byte %d)", MaxDepth, i)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// syntaxError says why data is no JSON document.
func syntaxError(data []byte) error {
	if len(data) == 0 {
		return errorAt("", "the body is empty")
	}
	var discard json.RawMessage
	err := json.Unmarshal(data, &discard)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return errorAt("", "is not one JSON document: %s (at byte %d)", syntax.Error(), syntax.Offset)
	}
	return errorAt("", "is not one JSON document")
}

// parser takes a document apart that is known to be valid JSON of limited depth.
type parser struct {
	data []byte
	pos  int
}

func (p *parser) space() {
	for p.pos < len(p.data) {
		switch p.data[p.pos] {
		case ' ', '\t', '\r', '\n':
			p.pos++
		default:
			return
		}
	}
}

func (p *parser) value(path string) (Value, error) {
	p.space()
	switch p.data[p.pos] {
	case '{':
		return p.object(path)
	case '[':
		return p.list(path)
	case '"':
		text, err := p.string(path)
		return Value{Kind: String, Path: path, Text: text}, err
	case 'n':
		p.pos += len("null")
		return Value{Kind: Null, Path: path}, nil
	case 't':
		p.pos += len("true")
		return Value{Kind: Bool, Path: path, Text: "true"}, nil
	case 'f':
		p.pos += len("false")
		return Value{Kind: Bool, Path: path, Text: "false"}, nil
	default:
		start := p.pos
		for p.pos < len(p.data) && isNumber(p.data[p.pos]) {
			p.pos++
		}
		return Value{Kind: Number, Path: path, Text: string(p.data[start:p.pos])}, nil
	}
}

func isNumber(c byte) bool {
	return '0' <= c && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}

func (p *parser) object(path string) (Value, error) {
	v := Value{Kind: Object, Path: path}
	seen := map[string]bool{}
	p.pos++
	for p.space(); p.data[p.pos] != '}'; p.space() {
		if p.data[p.pos] == ',' {
			p.pos++
			p.space()
		}
		name, err := p.string(path)
		if err != nil {
			return v, err
		}
		at := member(path, name)
		if seen[name] {
			return v, errorAt(at, "is given twice")
		}
		seen[name] = true
		p.space()
		p.pos++ // the colon
		item, err := p.value(at)
		if err != nil {
			return v, err
		}
		v.members = append(v.members, namedValue{name, item})
	}
	p.pos++
	return v, nil
}

func (p *parser) list(path string) (Value, error) {
	v := Value{Kind: List, Path: path}
	p.pos++
	for p.space(); p.data[p.pos] != ']'; p.space() {
		if p.data[p.pos] == ',' {
			p.pos++
		}
		item, err := p.value(element(path, len(v.items)))
		if err != nil {
			return v, err
		}
		v.items = append(v.items, item)
	}
	p.pos++
	return v, nil
}

// string reads a string and resolves its escapes. Half of a surrogate pair is refused: it stands for no character.
func (p *parser) string(path string) (string, error) {
	p.pos++
	start := p.pos
	for p.data[p.pos] != '"' && p.data[p.pos] != '\\' {
		p.pos++
	}
	if p.data[p.pos] == '"' {
		p.pos++
		return string(p.data[start : p.pos-1]), nil
	}
	text := append([]byte(nil), p.data[start:p.pos]...)
	for {
		switch c := p.data[p.pos]; c {
		case '"':
			p.pos++
			return string(text), nil
		case '\\':
			r, err := p.escape(path)
			if err != nil {
				return "", err
			}
			text = utf8.AppendRune(text, r)
		default:
			text = append(text, c)
			p.pos++
		}
	}
}

func (p *parser) escape(path string) (rune, error) {
	c := p.data[p.pos+1]
	p.pos += 2
	switch c {
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
	default:
		return rune(c), nil
	}
	r := p.hex()
	switch {
	case r == 0:
		return 0, errorAt(path, "holds the character U+0000")
	case !utf16.IsSurrogate(r):
		return r, nil
	case p.data[p.pos] == '\\' && p.data[p.pos+1] == 'u':
		p.pos += 2
		if pair := utf16.DecodeRune(r, p.hex()); pair != utf8.RuneError {
			return pair, nil
		}
	}
	return 0, errorAt(path, "holds half of a surrogate pair, which is no character")
}

// hex reads the four digits of an escape.
func (p *parser) hex() rune {
	n, _ := strconv.ParseUint(string(p.data[p.pos:p.pos+4]), 16, 16) // digits in valid JSON
	p.pos += 4
	return rune(n)
}
