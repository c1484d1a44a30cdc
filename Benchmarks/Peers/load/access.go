package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// isProtected says that the server demands TLS or a token: the client then gets a connection of ours instead of that for emulators.
func isProtected() bool { return *authority != "" || *token != "owner" }

// dialProtected connects as Google's client does for an emulator, with the token and TLS of the flags.
func dialProtected() (*grpc.ClientConn, error) {
	transport := grpc.WithInsecure()
	if *authority != "" {
		text, err := os.ReadFile(*authority)
		if err != nil {
			return nil, err
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: no certificate", *authority)
		}
		transport = grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: roots}))
	}
	return grpc.Dial(*host, transport, grpc.WithPerRPCCredentials(bearer(*token)))
}

type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

func (bearer) RequireTransportSecurity() bool { return false }
