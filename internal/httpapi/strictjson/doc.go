// Package strictjson decodes JSON of strangers into Go structs and refuses whatever is not exactly what was asked for.
//
// It differs from encoding/json, which would rather understand than refuse:
//
//   - a key that the struct does not have is an error, and so is the right key in another letter case;
//   - the same key twice in one object is an error;
//   - text after the document, nesting deeper than MaxDepth, and strings that are not valid Unicode or hold U+0000 are errors;
//   - null means that the key was not given; inside a list it is an error;
//   - an empty string for a time means that the time was not given.
//
// Every error names the place as a path, such as "targets.include[2].region". Everything that it accepts, encoding/json accepts too, with the same
// result; empty times are the one exception.
package strictjson
