// Command sign puts an ad-hoc signature on a Mach-O executable: macOS on Apple silicon runs no other.
package main

import (
	"fmt"
	"os"

	"github.com/anchore/quill/quill"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sign FILE")
		os.Exit(2)
	}
	// Without a certificate, the signature is ad hoc.
	config, err := quill.NewSigningConfigFromPEMs(os.Args[1], "", "", "", false)
	if err == nil {
		err = quill.Sign(*config.WithIdentity("uswarmctl"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
