package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// breakSQL lets each text of SQL in a file, in functions and in constants, be chosen by
// the number of the mutant. Constants of SQL become variables for it.
func (s *source) breakSQL(file *ast.File) {
	for _, decl := range file.Decls {
		where := ""
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			where = decl.Name.Name
		case *ast.GenDecl:
			if decl.Tok == token.CONST && sqlText.MatchString(s.textOf(decl)) {
				s.splice(decl.TokPos, decl.TokPos+token.Pos(len("const")), "var")
			} else if decl.Tok != token.VAR {
				continue
			}
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok {
				where = spec.Names[0].Name
			}
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				s.breakText(lit, where)
			}
			return true
		})
	}
}

// breakText lets a text be chosen from its broken forms and itself.
func (s *source) breakText(lit *ast.BasicLit, where string) {
	whole, _ := strconv.Unquote(lit.Value)
	forms := ""
	for _, broken := range brokenSQL(whole) {
		if m, built := s.mutant(where, changedPart(whole, broken), changedPart(broken, whole)); built {
			forms += fmt.Sprintf("%d: %q, ", m.number, broken)
		}
	}
	if forms != "" || strings.Contains(whole, "INDEXED BY") {
		s.splice(lit.Pos(), lit.End(), "mutantText("+lit.Value+", map[int]string{"+forms+"})")
	}
}

// changedPart is what of a text differs from another, with some words around it.
func changedPart(text, other string) string {
	from, to := 0, len(text)
	for from < len(text) && from < len(other) && text[from] == other[from] {
		from++
	}
	for end := len(other); to > from && end > from && text[to-1] == other[end-1]; end-- {
		to--
	}
	return text[max(0, from-30):min(len(text), to+20)]
}

// brokenSQL are the broken forms of a text, if it is SQL: a condition less, an operator or an
// order turned round, a bound moved, a column less, a statement that does nothing.
func brokenSQL(text string) (all []string) {
	if !sqlText.MatchString(text) {
		return nil
	}
	for _, b := range sqlBreaks {
		find, put := regexp.MustCompile(b[0]), b[1]
		for _, at := range find.FindAllStringSubmatchIndex(text, -1) {
			broken := text[:at[0]] + string(find.ExpandString(nil, put, text, at)) + text[at[1]:]
			if broken != text && !notSQL.MatchString(broken) && !slices.Contains(all, broken) {
				all = append(all, broken)
			}
		}
	}
	return all
}

var sqlText = regexp.MustCompile(`(?s)\b(SELECT|INSERT|UPDATE|DELETE|WHERE|AND|ORDER BY|FROM|SET|JOIN|VALUES)\b`)

// notSQL is found in broken texts that the database does not take, so that any case would
// find them, in those with another value in a SELECT that is asked for rows only, and in those
// with another constant added to a LIMIT, which the rule for limits makes too.
var notSQL = regexp.MustCompile(`\bLIMIT \?\d* \+ 1\b|\?\(|\?0\b|\bIS NOT (OR|AND)\b|\bSELECT 0 FROM\b|\bBY 0\b|, 0 DESC\b|\bCAST (OR|AND)\b|\bINSERT AND\b` +
	`|(\bSET |, )(\(\w+ = [^()]* (OR true|AND false)\)|\w+ <> )`)

// operand is a column, a parameter or a call.
const operand = `[\w.]+(?:\([^()]*\))?`

// sqlBreaks are the ways to break a text, each what is found and what is put in its place. A
// condition that is left out is put as one that holds, so that the text keeps its parameters.
var sqlBreaks = [][2]string{
	{`(` + operand + `) (=|<>|<|<=|>|>=|IS) (\?\d*|` + operand + `)`, `($1 $2 $3 OR true)`},
	{`(` + operand + `) (=|<>|<|<=|>|>=|IS) (\?\d*|` + operand + `)`, `($1 $2 $3 AND false)`},
	{` < `, ` <= `}, {` <= `, ` < `}, {` > `, ` >= `}, {` >= `, ` > `}, {` = `, ` <> `}, {` <> `, ` = `},
	{`\bAND\b`, `OR`}, {`\bOR\b`, `AND`}, {`\bIS NOT NULL\b`, `IS NULL`}, {`\bIS NULL\b`, `IS NOT NULL`},
	{`\bNOT EXISTS\b`, `EXISTS`}, {`\bEXISTS\b`, `NOT EXISTS`}, {`\bNOT IN\b`, `IN`}, {`\bIN \(`, `NOT IN (`},
	{`\bDESC\b`, ``}, {`(ORDER BY [\w.]+)(,|\s*$| LIMIT)`, `$1 DESC$2`}, {`ORDER BY ([\w. ]+), ([\w.]+( DESC)?)`, `ORDER BY $2, $1`},
	{`ORDER BY ([\w. ]+), `, `ORDER BY `}, {`, [\w.]+( DESC)?( LIMIT|\s*$)`, `$2`}, {`\bLIMIT (\?\d* \+ 0|\?\d*)`, `LIMIT ($1) + 1`},
	{`\bDISTINCT\b`, ``}, {`\bLEFT JOIN\b`, `JOIN`}, {`\bUNION ALL\b`, `UNION`}, {`\bMAX\(`, `MIN(`}, {`\bMIN\(`, `MAX(`},
	{`(SET |, )(\w+) = (\?\d*|[\w.]+)`, `$1$2 = $2`}, {`\bOR IGNORE\b`, ``}, {` \+ 1\b`, ` + 0`}, {` - 1\b`, ` - 0`},
	{`\bDELETE FROM (\w+) WHERE (\w+ IN)\b`, `DELETE FROM $1 WHERE false AND $2`}, {`\b0\b`, `1`}, {`\b1\b`, `0`},
}
