package adaptertest

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
)

// A method that is added to an interface of a store is swept, or this fails.
func TestT1_EveryMethodIsSwept(t *testing.T) {
	for _, ability := range []reflect.Type{
		reflect.TypeFor[driver.Adapter](), reflect.TypeFor[driver.Transactor](), reflect.TypeFor[driver.Versioned](), reflect.TypeFor[driver.Scheduler](),
		reflect.TypeFor[driver.Changes](), reflect.TypeFor[driver.EventKeeper](), reflect.TypeFor[driver.Tenants](),
	} {
		for i := range ability.NumMethod() {
			name := ability.Method(i).Name
			require.True(t, slices.ContainsFunc(methods, func(m method) bool { return m.name == name }), "%s of %s", name, ability)
		}
	}
}
