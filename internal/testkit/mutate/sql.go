package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// breakSQLFile lets each text of SQL in a file, in functions and in constants, be chosen by
// the number of the mutant. Constants of text become variables for it.
func (o *options) breakSQLFile(path string, source []byte, before int, known map[string]*mutant) (text, pkg string, made []*mutant, err error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, source, parser.SkipObjectResolution)
	if err != nil {
		return "", "", nil, err
	}
	d := &editor{source: source, base: fset.File(file.Pos()).Base()}
	var out strings.Builder
	at := 0
	put := func(from, to token.Pos, text string) {
		out.Write(source[at:d.offset(from)])
		out.WriteString(text)
		at = d.offset(to)
	}
	for _, decl := range file.Decls {
		where := ""
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			where = decl.Name.Name
		case *ast.GenDecl:
			if decl.Tok == token.CONST && onlyTexts(decl) {
				put(decl.TokPos, decl.TokPos+token.Pos(len("const")), "var")
			} else if decl.Tok != token.VAR {
				continue
			}
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok {
				where = spec.Names[0].Name
			}
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			whole, err := strconv.Unquote(lit.Value)
			if err != nil {
				return true
			}
			call := "mutantText(" + lit.Value
			all := brokenSQL(whole)
			for _, broken := range all {
				name := fmt.Sprintf("%s %s: %s -> %s", path, where, changedPart(whole, broken), changedPart(broken, whole))
				for n := 2; known[name] != nil && known[name].number != before+len(made)+1; n++ {
					name = fmt.Sprintf("%s #%d", strings.TrimSuffix(name, fmt.Sprintf(" #%d", n-1)), n)
				}
				m := &mutant{name: name, number: before + len(made) + 1}
				m.idle = !o.wanted(name)
				known[name] = m
				made = append(made, m)
				call += fmt.Sprintf(", %d, %q", m.number, broken)
			}
			if len(all) > 0 || strings.Contains(whole, "INDEXED BY") {
				put(lit.Pos(), lit.End(), call+")")
			}
			return true
		})
	}
	out.Write(source[at:])
	return out.String(), file.Name.Name, made, nil
}

// onlyTexts tells declarations of nothing but texts.
func onlyTexts(decl *ast.GenDecl) bool {
	texts := true
	for _, spec := range decl.Specs {
		values := spec.(*ast.ValueSpec).Values
		texts = texts && len(values) > 0
		for _, value := range values {
			literal := false
			ast.Inspect(value, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BasicLit:
					texts, literal = texts && n.Kind == token.STRING, true
				case *ast.BinaryExpr, *ast.Ident, nil:
				default:
					texts = false
				}
				return true
			})
			texts = texts && literal
		}
	}
	return texts
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
	return strings.TrimSpace(spaces.ReplaceAllString(text[max(0, from-30):min(len(text), to+20)], " "))
}

// brokenSQL are the broken forms of a text, if it is SQL: a condition less, an operator or an
// order turned round, a bound moved, a column less, a statement that does nothing.
func brokenSQL(text string) (all []string) {
	if !sqlText.MatchString(text) {
		return nil
	}
	for _, b := range sqlBreaks {
		for _, at := range b.find.FindAllStringSubmatchIndex(text, -1) {
			broken := text[:at[0]] + string(b.find.ExpandString(nil, b.put, text, at)) + text[at[1]:]
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

// sqlBreaks are the ways to break a text. A condition that is left out is put as one
// that holds, so that the text keeps its parameters.
var sqlBreaks = func() []struct {
	find *regexp.Regexp
	put  string
} {
	const operand = `[\w.]+(?:\([^()]*\))?`
	var all []struct {
		find *regexp.Regexp
		put  string
	}
	for _, b := range [][2]string{
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
	} {
		all = append(all, struct {
			find *regexp.Regexp
			put  string
		}{regexp.MustCompile(b[0]), b[1]})
	}
	return all
}()
