// grafana_schema DASHBOARD: checks a dashboard against Grafana's schema, as Grafana's own library for Go (grafana-foundation-sdk) has
// it: no unknown field, none of a wrong type, no required one missing; the options of each panel by the schema of its plugin, each
// query by that of Prometheus. The library leaves three things to its caller, which are checked here: the fields of fieldConfig,
// values of enumerations, and units. The last two are read from the library's source, because at run time it does not have them.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

const module = "github.com/grafana/grafana-foundation-sdk/go"

// values: of each enumeration ("package.Type") those that it has, and as "units" the units.
type values map[string]map[string]bool

func (all values) add(name, value string) {
	if all[name] == nil {
		all[name] = map[string]bool{}
	}
	all[name][value] = true
}

// addFile: the constants of a source file that have a type of their own; in the package of units, all.
func (all values) addFile(path string) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			return true
		}
		value := literal.Value
		if text, err := strconv.Unquote(value); err == nil {
			value = text
		}
		if kind, ok := spec.Type.(*ast.Ident); ok {
			all.add(file.Name.Name+"."+kind.Name, value)
		} else if file.Name.Name == "units" {
			all.add("units", value)
		}
		return true
	})
	return nil
}

func enumerations() (values, error) {
	folder, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return nil, err
	}
	all := values{}
	err = filepath.WalkDir(strings.TrimSpace(string(folder)), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "types_gen.go" {
			return err
		}
		return all.addFile(path)
	})
	if err == nil && (len(all) < 50 || len(all["units"]) < 50) {
		err = fmt.Errorf("only %d enumerations and %d units in %s", len(all), len(all["units"]), folder)
	}
	return all, err
}

// errorsIn: values below v that are none of their enumeration's. An empty one was left out.
func (all values) errorsIn(path string, v reflect.Value) (found []string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return all.errorsIn(path, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			found = append(found, all.errorsIn(fmt.Sprintf("%s[%d]", path, i), v.Index(i))...)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			found = append(found, all.errorsIn(fmt.Sprintf("%s[%v]", path, key), v.MapIndex(key))...)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			found = append(found, all.errorsIn(path+"."+name, v.Field(i))...)
		}
	case reflect.String, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		value := fmt.Sprint(v)
		if known := all[v.Type().String()]; known != nil && value != "" && !known[value] {
			return []string{fmt.Sprintf("%s: %q is none of the values of %s", path, value, v.Type())}
		}
	}
	return found
}

// listed: nil for the library's empty list of errors, which is an error that is not nil.
func listed(err error) error {
	var list cog.BuildErrors
	if errors.As(err, &list) && len(list) == 0 {
		return nil
	}
	return err
}

// fieldConfigErrors: the library decodes a panel's fieldConfig without looking for unknown fields. `custom`, which is the plugin's,
// was checked with the panel.
func (all values) fieldConfigErrors(raw json.RawMessage) error {
	var config dashboard.FieldConfigSource
	if err := listed(config.UnmarshalJSONStrict(raw)); err != nil || raw == nil {
		return err
	}
	unit := config.Defaults.Unit
	if unit != nil && !all["units"][*unit] {
		return fmt.Errorf("unit: Grafana has no unit %q", *unit)
	}
	return nil
}

func (all values) panelErrors(raw json.RawMessage) error {
	var panel struct {
		Type, Title string
		FieldConfig json.RawMessage
	}
	if err := json.Unmarshal(raw, &panel); err != nil {
		return err
	}
	if _, known := cog.ConfigForPanelcfgVariant(panel.Type); !known && panel.Type != "row" {
		return fmt.Errorf("%s: no panel of type %q is known here", panel.Title, panel.Type)
	}
	if err := all.fieldConfigErrors(panel.FieldConfig); err != nil {
		return fmt.Errorf("%s: fieldConfig: %w", panel.Title, err)
	}
	return nil
}

// check: what is decoded strictly has its errors and, because of them, not all of its parts. What it decodes to is looked at in another
// one.
func (all values) check(raw []byte) error {
	var board, strict dashboard.Dashboard
	var panels struct{ Panels []json.RawMessage }
	found := []error{json.Unmarshal(raw, &panels), listed(strict.UnmarshalJSONStrict(raw)), json.Unmarshal(raw, &board), listed(board.Validate())}
	for _, panel := range panels.Panels {
		found = append(found, all.panelErrors(panel))
	}
	for _, text := range all.errorsIn("", reflect.ValueOf(board)) {
		found = append(found, errors.New(text))
	}
	return errors.Join(found...)
}

// registerPlugins: those that the dashboard uses. To compile all of them takes a minute.
func registerPlugins() {
	cog.NewRuntime().RegisterDataqueryVariant(prometheus.VariantConfig())
	cog.NewRuntime().RegisterPanelcfgVariant(stat.VariantConfig())
	cog.NewRuntime().RegisterPanelcfgVariant(table.VariantConfig())
	cog.NewRuntime().RegisterPanelcfgVariant(timeseries.VariantConfig())
}

func run(path string) error {
	registerPlugins()
	all, err := enumerations()
	if err != nil {
		return err
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return all.check(raw)
}

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
