package distill_test

import (
	"context"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openwop/agentmemory/adaptertest"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
)

func TestArchiveStores_MemoryStore(t *testing.T) {
	adaptertest.RunArchiveStore(t, adaptertest.ArchiveConfig{
		New: func(context.Context) (distill.ArchiveStore, error) { return distill.NewMemoryStore(), nil },
	})
}

func TestArchiveStores_FileStore(t *testing.T) {
	dirs := map[distill.ArchiveStore]string{}
	open := func(dir string) (distill.ArchiveStore, error) {
		s, err := distill.OpenFileStore(dir)
		dirs[s] = dir
		return s, err
	}
	adaptertest.RunArchiveStore(t, adaptertest.ArchiveConfig{
		New: func(context.Context) (distill.ArchiveStore, error) { return open(t.TempDir()) },
		Reopen: func(_ context.Context, s distill.ArchiveStore) (distill.ArchiveStore, error) {
			return open(dirs[s])
		},
		Damage: func(_ context.Context, s distill.ArchiveStore, _ memory.Scope, address distill.Digest, data []byte) error {
			files, err := filepath.Glob(filepath.Join(dirs[s], "*", hex.EncodeToString(address[:])+".json"))
			if err != nil || len(files) != 1 {
				t.Errorf("%d files of one archive: %v", len(files), err)
				return err
			}
			if !strings.HasPrefix(files[0], dirs[s]) {
				t.Error("a file elsewhere")
			}
			return os.WriteFile(files[0], data, 0o600)
		},
	})
}
