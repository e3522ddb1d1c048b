package pgcluster

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
)

// ping opens a session on a socket, as any client does, and ends it when the server
// says that it is ready for queries.
func ping(ctx context.Context, socket string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()

	const hello = "\x00\x03\x00\x00" + // version 3.0 of the protocol
		"user\x00" + databaseUser + "\x00database\x00postgres\x00\x00"
	message := binary.BigEndian.AppendUint32(nil, uint32(4+len(hello)))
	if _, err := conn.Write(append(message, hello...)); err != nil {
		return err
	}
	for {
		var head [5]byte // what it is, and how long, the length itself included
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return err
		}
		size := int64(binary.BigEndian.Uint32(head[1:])) - 4
		if size < 0 || size > 1<<16 {
			return errors.New("pgcluster: no PostgreSQL server")
		}
		if _, err := io.CopyN(io.Discard, conn, size); err != nil {
			return err
		}
		switch head[0] {
		case 'Z': // ready for query
			_, err := conn.Write([]byte{'X', 0, 0, 0, 4})
			return err
		case 'E':
			return errors.New("pgcluster: the server refuses a session")
		}
	}
}
