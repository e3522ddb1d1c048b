// Package text takes a text apart into the tokens by which texts are compared and
// found. It knows no language and holds no list of words.
package text
