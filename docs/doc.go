// Package docs holds the documentation of this tree beyond the package comments: the pages
// beside this file, to be read on GitHub or in an editor. It has no code. Its tests compile and
// run what the pages and the README show, compare what is printed with what a page says is
// printed, and check that every test and every symbol that a page names exists. They build
// programs of several modules, and are a module of their own for that.
package docs
