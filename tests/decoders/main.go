// Prints the size and sha256 of what a Go zstd decoder reads from a file, in reads of argument 2 bytes on both sides,
// and the number of tar entries inside.
package main

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/klauspost/compress/zstd"
)

// small reads and gives at most n bytes at once.
type small struct {
	r io.Reader
	n int
}

func (s small) Read(p []byte) (int, error) {
	if len(p) > s.n {
		p = p[:s.n]
	}
	return s.r.Read(p)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	n, err := strconv.Atoi(os.Args[2])
	check(err)
	file, err := os.Open(os.Args[1])
	check(err)
	decoder, err := zstd.NewReader(small{file, n})
	check(err)
	hash := sha256.New()
	tee := io.TeeReader(small{decoder, n}, hash)
	archive := tar.NewReader(tee)
	entries := 0
	for {
		_, err := archive.Next()
		if err == io.EOF {
			break
		}
		check(err)
		_, err = io.Copy(io.Discard, archive)
		check(err)
		entries++
	}
	rest, err := io.Copy(io.Discard, tee)
	check(err)
	fmt.Println(hex.EncodeToString(hash.Sum(nil)), entries, rest)
}
