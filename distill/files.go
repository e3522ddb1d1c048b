package distill

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// FileStore is an [ArchiveStore] in a directory on disk. An archive is a file under
// its digest, written elsewhere, synced and renamed, and verified whenever it is
// read; a key is a small file beside it that the first to link it wins. Directories
// are named by a digest of the scope, so that no ref becomes a path. Any number of
// processes may share the directory; the file system must have hard links.
type FileStore struct {
	dir string
	mu  sync.Mutex // orders Keep and Drop within the process
}

const archiveExt = ".json"

// OpenFileStore returns a store in dir, which it creates if it is not there.
func OpenFileStore(dir string) (*FileStore, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, &failed{"the archive directory cannot be made", err}
	}
	return &FileStore{dir: dir}, nil
}

// shelf is the directory of a scope. Neither part of a scope holds U+0000.
func (f *FileStore) shelf(s memory.Scope) string {
	sum := sha256.Sum256([]byte(s.Tenant + "\x00" + s.Ref))
	return filepath.Join(f.dir, hex.EncodeToString(sum[:]))
}

func (f *FileStore) archive(s memory.Scope, d Digest) string {
	return filepath.Join(f.shelf(s), hex.EncodeToString(d[:])+archiveExt)
}

func (f *FileStore) key(s memory.Scope, d Digest) string {
	return filepath.Join(f.shelf(s), "keys", hex.EncodeToString(d[:]))
}

// Find returns the address that a key was kept under, or [memory.ErrNotFound].
func (f *FileStore) Find(ctx context.Context, s memory.Scope, key Digest) (Digest, error) {
	if err := ctx.Err(); err != nil {
		return Digest{}, err
	}
	text, err := os.ReadFile(f.key(s, key))
	if err != nil {
		return Digest{}, notFound(err)
	}
	address, err := ParseDigest(string(text))
	if err != nil {
		return Digest{}, memory.ErrNotFound // not a key of this store: it binds nothing
	}
	if _, err := os.Stat(f.archive(s, address)); err != nil {
		return Digest{}, notFound(err)
	}
	return address, nil
}

// Keep stores data unless the key has an archive already, and returns the address
// that the key has.
func (f *FileStore) Keep(ctx context.Context, s memory.Scope, key Digest, data []byte, at time.Time) (Digest, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	address := DigestOf(data)
	for {
		winner, err := f.Find(ctx, s, key)
		if err == nil {
			return winner, f.touch(s, winner, at)
		}
		if !errors.Is(err, memory.ErrNotFound) {
			return Digest{}, err
		}
		if err := os.MkdirAll(filepath.Join(f.shelf(s), "keys"), 0o700); err != nil {
			return Digest{}, err
		}
		// The archive goes first: a key never names one that is not there.
		if err := f.write(f.archive(s, address), data, os.Rename); err != nil {
			return Digest{}, err
		}
		if err := f.touch(s, address, at); err != nil {
			return Digest{}, err
		}
		err = f.write(f.key(s, key), []byte(address.String()), os.Link)
		if err == nil {
			return address, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return Digest{}, err
		}
		if _, err := f.Find(ctx, s, key); errors.Is(err, memory.ErrNotFound) {
			// A key that names nothing, as after a crash: it is free again.
			if err := remove(f.key(s, key)); err != nil {
				return Digest{}, err
			}
		}
	}
}

func (f *FileStore) touch(s memory.Scope, address Digest, at time.Time) error {
	return os.Chtimes(f.archive(s, address), at, at)
}

// write puts a whole, synced file in place.
func (f *FileStore) write(name string, data []byte, place func(from, to string) error) error {
	tmp, err := os.CreateTemp(f.dir, "new-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	if err := place(tmp.Name(), name); err != nil {
		return err
	}
	return syncDir(filepath.Dir(name))
}

// syncDir makes a new name last.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	d.Sync() // some systems cannot sync a directory, and need not
	return d.Close()
}

// Load returns the bytes of an archive, or [memory.ErrNotFound]; [ErrArchive] if the
// file does not have the digest that it is named by.
func (f *FileStore) Load(ctx context.Context, s memory.Scope, address Digest) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	name := f.archive(s, address)
	info, err := os.Stat(name)
	if err != nil {
		return nil, notFound(err)
	}
	if info.Size() > MaxArchiveBytes {
		return nil, broken("is too large")
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, notFound(err)
	}
	if err := Verify(data, address); err != nil {
		return nil, err
	}
	return data, nil
}

// Drop removes an archive and its key, unless it was kept at or after before.
func (f *FileStore) Drop(ctx context.Context, s memory.Scope, address Digest, before time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.archive(s, address))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !before.IsZero() && !info.ModTime().Before(before) {
		return nil
	}
	// A key whose archive is gone binds nothing, so the archive can go first. One
	// that cannot be read leaves its key behind.
	var key Digest
	if data, err := f.Load(ctx, s, address); err == nil {
		if a, err := Decode(data); err == nil {
			key = a.Key
		}
	}
	if err := remove(f.archive(s, address)); err != nil {
		return err
	}
	if key.IsZero() {
		return nil
	}
	return remove(f.key(s, key))
}

// Archives yields what is kept for the scope.
func (f *FileStore) Archives(ctx context.Context, s memory.Scope) iter.Seq2[Kept, error] {
	return func(yield func(Kept, error) bool) {
		files, err := os.ReadDir(f.shelf(s))
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			yield(Kept{}, err)
			return
		}
		for _, file := range files {
			digits, ok := strings.CutSuffix(file.Name(), archiveExt)
			address, err := ParseDigest(digestHead + digits)
			if !ok || err != nil {
				continue // not a file of this store
			}
			info, err := file.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue // dropped meanwhile
			}
			if err != nil {
				yield(Kept{}, err)
				return
			}
			if !yield(Kept{address, info.ModTime().UTC()}, nil) {
				return
			}
		}
	}
}

func notFound(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return memory.ErrNotFound
	}
	return err
}

func remove(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
