package strictjson_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/httpapi/strictjson"
)

type document struct {
	Name   string     `json:"name"`
	Size   int        `json:"size,omitempty"`
	Big    int64      `json:"big,omitempty"`
	On     bool       `json:"on,omitempty"`
	At     time.Time  `json:"at"`
	Until  *time.Time `json:"until,omitempty"`
	Inner  inner      `json:"inner"`
	Other  *inner     `json:"other,omitempty"`
	List   []inner    `json:"list"`
	Words  []string   `json:"words,omitempty"`
	Hidden string     `json:"-"`
}

type inner struct {
	ID   string     `json:"ID,omitempty"`
	Deep *document  `json:"deep,omitempty"`
	Many []document `json:"many,omitempty"`
}

func TestDocumentsThatAreAsAskedForAreRead(t *testing.T) {
	t.Parallel()
	var got document
	err := strictjson.Unmarshal([]byte(` {"name":"aé\u00e9\ud83d\ude00\n\"\\\/","size":-3,"big":9223372036854775807,"on":true,
		"at":"2030-01-02T22:00:00+01:00","until":"2030-01-02T21:00:00.5Z","inner":{"ID":"1"},"other":{},"list":[{"ID":"2"},{}],"words":["a",""]} `), &got)
	require.NoError(t, err)
	until := time.Date(2030, 1, 2, 21, 0, 0, 500_000_000, time.UTC)
	require.True(t, got.At.Equal(time.Date(2030, 1, 2, 21, 0, 0, 0, time.UTC)))
	got.At = time.Time{}
	require.Equal(t, document{
		Name: "aéé😀\n\"\\/", Size: -3, Big: 9223372036854775807, On: true, Until: &until,
		Inner: inner{ID: "1"}, Other: &inner{}, List: []inner{{ID: "2"}, {}}, Words: []string{"a", ""},
	}, got)
}

func TestNullAndEmptyTimesMeanNotSet(t *testing.T) {
	t.Parallel()
	want := document{Name: "kept", Size: 3, On: true, List: []inner{{ID: "1"}}}
	got := want
	err := strictjson.Unmarshal([]byte(`{"name":null,"size":null,"on":null,"at":"","until":"","inner":null,"other":null,"list":null,"words":null}`), &got)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestWhatIsNotAsAskedForIsNamed(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"inner":{"deep":`, 16) + `{}` + strings.Repeat(`}}`, 16)
	tests := map[string]struct{ give, path, message string }{
		"nothing":                  {"", "", "the body is empty"},
		"white space":              {" ", "", "is not one JSON document"},
		"no object":                {`[1]`, "", "the body is a list and not an object"},
		"null":                     {`null`, "", "the body is null and not an object"},
		"unknown key":              {`{"inner":{"runtime":"x"}}`, "inner.runtime", "is not known here; known are ID, deep, many"},
		"hidden key":               {`{"Hidden":"x"}`, "Hidden", "is not known here"},
		"dash":                     {`{"-":"x"}`, "-", "is not known here"},
		"letter case":              {`{"list":[{},{"id":"x"}]}`, "list[1].id", `is not known in this letter case; the name is "ID"`},
		"key of another alphabet":  {`{"ſize":1}`, "ſize", "is not known in this letter case"},
		"twice":                    {`{"size":1,"size":1}`, "size", "is given twice"},
		"twice by an escape":       {`{"size":1,"\u0073ize":2}`, "size", "is given twice"},
		"twice, unknown":           {`{"a":1,"a":1}`, "a", "is given twice"},
		"strange key":              {`{"a.b\n":1}`, `["a.b\n"]`, "is not known here"},
		"empty key":                {`{"":1}`, `[""]`, "is not known here"},
		"trailing object":          {`{}{}`, "", "is not one JSON document"},
		"trailing brace":           {`{}}`, "", "is not one JSON document"},
		"trailing comma":           {`{"size":1,}`, "", "is not one JSON document"},
		"comment":                  {`{/**/}`, "", "is not one JSON document"},
		"byte order mark":          {"\ufeff{}", "", "is not one JSON document"},
		"too deep":                 {deep, "", "is nested deeper than 32"},
		"bad UTF-8":                {"{\"name\":\"\xff\"}", "", "the body is not valid UTF-8"},
		"half a surrogate pair":    {`{"name":"\ud83d"}`, "name", "holds half of a surrogate pair"},
		"two first halves":         {`{"name":"\ud83d\ud83d"}`, "name", "holds half of a surrogate pair"},
		"second half first":        {`{"name":"\ude00"}`, "name", "holds half of a surrogate pair"},
		"half, then another":       {`{"name":"\ud83d\u0041"}`, "name", "holds half of a surrogate pair"},
		"U+0000":                   {`{"name":"a\u0000"}`, "name", "holds the character U+0000"},
		"U+0000 in a key":          {`{"inner":{"a\u0000":1}}`, "inner", "holds the character U+0000"},
		"number as text":           {`{"size":"1"}`, "size", "is a string and not a whole number"},
		"fraction":                 {`{"size":1.0}`, "size", `"1.0" is not a whole number`},
		"exponent":                 {`{"size":1e2}`, "size", `"1e2" is not a whole number`},
		"too large":                {`{"big":9223372036854775808}`, "big", "is not a whole number between"},
		"text as a number":         {`{"name":1}`, "name", "is a number and not a string"},
		"flag as text":             {`{"on":"true"}`, "on", "is a string and not true or false"},
		"flag as a number":         {`{"on":1}`, "on", "is a number and not true or false"},
		"list as an object":        {`{"list":{}}`, "list", "is an object and not a list"},
		"object as a list":         {`{"inner":[]}`, "inner", "is a list and not an object"},
		"null in a list":           {`{"list":[{},null]}`, "list[1]", "is null"},
		"number in a list of text": {`{"words":["a",1]}`, "words[1]", "is a number and not a string"},
		"time as a number":         {`{"at":1}`, "at", "is a number and not a time"},
		"date":                     {`{"at":"2030-01-02"}`, "at", `"2030-01-02" is not a time`},
		"time that JSON lacks":     {`{"until":"9999-12-31T23:59:59-01:00"}`, "until", "is not a time as 2030-01-02T22:00:00Z"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got document
			err := strictjson.Unmarshal([]byte(test.give), &got)
			var refused *strictjson.Error
			require.ErrorAs(t, err, &refused)
			require.Equal(t, test.path, refused.Path)
			require.Contains(t, refused.Message, test.message)
		})
	}
}

func TestTheDeepestDocumentIsRead(t *testing.T) {
	t.Parallel()
	var got document
	require.NoError(t, strictjson.Unmarshal([]byte(strings.Repeat(`{"inner":{"deep":`, 15)+`{"inner":{}}`+strings.Repeat(`}}`, 15)), &got))
}

func TestErrorsRepeatOnlyALittleOfTheDocument(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 100_000)
	for _, text := range []string{`{"` + long + `":1}`, `{"at":"` + long + `"}`, `{"size":` + strings.Repeat("1", 100_000) + `}`} {
		err := strictjson.Unmarshal([]byte(text), &document{})
		require.Error(t, err)
		require.Less(t, len(err.Error()), 1000)
	}
}

func TestTargetsThatCannotBeDecodedAreNotTheDocumentsFault(t *testing.T) {
	t.Parallel()
	var refused *strictjson.Error
	err := strictjson.Unmarshal([]byte(`{}`), document{})
	require.Error(t, err)
	require.NotErrorAs(t, err, &refused)
	err = strictjson.Unmarshal([]byte(`{"x":1.5}`), &struct {
		X float64 `json:"x"`
	}{})
	require.Error(t, err)
	require.NotErrorAs(t, err, &refused)
}
