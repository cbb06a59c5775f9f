// Copies the hook detection of Argo CD from its sources into a package tree that depends only on the API machinery of
// Kubernetes. Usage: assemble <gitops-engine> <argo-cd> <out> <import path of out>.
package main

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Source folders of gitops-engine by target package. Declarations that need other imports are omitted.
var packages = map[string]string{
	"common":   "pkg/sync/common/types.go",
	"resource": "pkg/sync/resource/annotations.go",
	"helmhook": "pkg/sync/hook/helm",
	"hook":     "pkg/sync/hook",
}

// Returns the allowed target of an import: a copied package, or an unmodified one.
func resolve(path, out string) (string, bool) {
	for name, from := range packages {
		folder := strings.TrimSuffix(from, "/types.go")
		folder = strings.TrimSuffix(folder, "/annotations.go")
		if strings.Contains(path, "gitops-engine") && strings.HasSuffix(path, "/"+folder) {
			return out + "/" + name, true
		}
	}
	return path, !strings.Contains(path, "/") || path == "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
}

func main() {
	if len(os.Args) != 5 {
		fail(fmt.Errorf("usage: assemble <gitops-engine> <argo-cd> <out> <import path>"))
	}
	engine, argo, out, path := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	for name, from := range packages {
		fail(assemble(filepath.Join(engine, from), filepath.Join(out, name), path))
	}
	fail(assemble(filepath.Join(argo, "controller/hook.go"), filepath.Join(out, "controller"), path))
	// The predicates of Argo CD's controller are not exported.
	exports := "package controller\n\nvar IsHook, IsPostDeleteHook = isHook, isPostDeleteHook\n"
	// Argo CD 2.14 has no PreDelete hooks.
	if contains(filepath.Join(out, "controller", "hook.go"), "func isPreDeleteHook(") {
		exports += "var IsPreDeleteHook = isPreDeleteHook\n"
	}
	fail(os.WriteFile(filepath.Join(out, "controller", "exports.go"), []byte(exports), 0o644))
}

func contains(file, text string) bool {
	content, err := os.ReadFile(file)
	fail(err)
	return strings.Contains(string(content), text)
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func assemble(from, to, path string) error {
	files := []string{from}
	if filepath.Ext(from) != ".go" {
		found, err := filepath.Glob(filepath.Join(from, "*.go"))
		if err != nil {
			return err
		}
		files = found
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		if err := reduce(file, filepath.Join(to, filepath.Base(file)), path); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

// Writes the file without declarations that need imports that are not allowed.
func reduce(from, to, path string) error {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, from, nil, 0)
	if err != nil {
		return err
	}
	foreign, known := map[string]bool{}, map[string]*ast.ImportSpec{}
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		name := filepath.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		resolved, ours := resolve(imported, path)
		if !ours {
			foreign[name] = true
			continue
		}
		spec.Path.Value = strconv.Quote(resolved)
		spec.Name = ast.NewIdent(name)
		known[name] = spec
	}
	kept, used := []ast.Decl{}, map[string]bool{}
	for _, decl := range file.Decls {
		if general, ok := decl.(*ast.GenDecl); ok && general.Tok == token.IMPORT {
			continue
		}
		if names := selectors(decl); !overlaps(names, foreign) && !isController(decl) {
			kept = append(kept, decl)
			for name := range names {
				used[name] = true
			}
		}
	}
	imports := &ast.GenDecl{Tok: token.IMPORT, Lparen: 1}
	for name, spec := range known {
		if used[name] {
			imports.Specs = append(imports.Specs, spec)
		}
	}
	file.Decls = kept
	if len(imports.Specs) > 0 {
		file.Decls = append([]ast.Decl{imports}, kept...)
	}
	written, err := os.Create(to)
	if err != nil {
		return err
	}
	defer written.Close()
	return format.Node(written, files, file)
}

// Returns the names before a dot, which include package names.
func selectors(decl ast.Decl) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(decl, func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok {
			if name, ok := selector.X.(*ast.Ident); ok {
				names[name.Name] = true
			}
		}
		return true
	})
	return names
}

func overlaps(names, others map[string]bool) bool {
	for name := range names {
		if others[name] {
			return true
		}
	}
	return false
}

// Whether the declaration is a method of the controller, which would need the rest of the controller.
func isController(decl ast.Decl) bool {
	function, ok := decl.(*ast.FuncDecl)
	if !ok || function.Recv == nil {
		return false
	}
	star, ok := function.Recv.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	receiver, ok := star.X.(*ast.Ident)
	return ok && receiver.Name == "ApplicationController"
}
