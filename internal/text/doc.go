// Package text takes a text apart into the tokens by which texts are compared, which know no
// language and no list of words, and into the words by which texts are found, which do.
package text
