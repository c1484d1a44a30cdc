import Foundation
import HearthServer
import InteropSupport
import TestSupport
import Testing

@Suite("hearth data and a certificate authority of one's own", .timeLimit(.minutes(5)))
struct CertificateTests {
  /// Takes TLS from its first port, with a certificate of the test authority, and passes the bytes on to its second.
  private static let proxy = """
    import socket, ssl, sys, threading
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    context.set_alpn_protocols(["h2"])
    def copy(source, target):
        try:
            while data := source.recv(65536): target.sendall(data)
        except OSError: pass
        finally:
            try: target.shutdown(socket.SHUT_WR)
            except OSError: pass
    def serve(plain):
        try: client = context.wrap_socket(plain, server_side=True)
        except (OSError, ssl.SSLError): return
        server = socket.create_connection(("127.0.0.1", int(sys.argv[3])))
        threading.Thread(target=copy, args=(client, server), daemon=True).start()
        copy(server, client)
    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    while True: threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()
    """

  @Test(
    "its file makes a backend trusted, another one does not, and one that is none is refused with its name",
    .enabled(if: Programs.find("python3") != nil, "python3 is not installed"))
  func authority() async throws {
    let folder = TemporaryFolder()
    try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
    func file(_ name: String, _ text: String) throws -> String {
      let path = folder.url.appendingPathComponent(name).path
      try text.write(toFile: path, atomically: true, encoding: .utf8)
      return path
    }
    let (own, other) = (try file("own.pem", TestAuthority.root), try file("other.pem", TestAuthority.otherRoot))
    let none = try file("none.pem", "garbage")
    let certificate = try file("server.pem", TestAuthority.server)
    let key = try file("key.pem", TestAuthority.serverKey)
    let python = try #require(Programs.find("python3"))
    try await DataPlace.run { place in
      try await place.set("a/b", "{}")
      let proxy = try LineProcess(python, ["-c", Self.proxy, certificate, key, "\(place.server.port)"])
      defer { proxy.killAtOnce() }
      let port = try #require(await proxy.nextLine())
      func get(_ arguments: String...) async throws -> Programs.Output {
        try await Programs.runInBackground(
          Programs.product("hearth"),
          ["data", "get", "a/b", "--project", "demo", "--host", "127.0.0.1:\(port)"] + arguments)
      }
      let trusted = try await get("--tls", "--ca-file", own)
      #expect(trusted.status == 0 && trusted.text.hasPrefix("{\"path\":\"a/b\""), "\(trusted.text)")
      for arguments in [["--tls"], ["--tls", "--ca-file", other]] {
        let output = try await Programs.runInBackground(
          Programs.product("hearth"), ["data", "get", "a/b", "--host", "127.0.0.1:\(port)"] + arguments)
        #expect(
          output.status == 1 && output.text.contains("the certificate of 127.0.0.1:\(port) is not trusted")
            && output.text.contains("--ca-file"), "\(output.text)")
      }
      let wrong = try await get("--tls", "--ca-file", none)
      #expect(
        wrong.status == 1 && wrong.text.hasPrefix("hearth data: --ca-file \"\(none)\" has no certificate in PEM form"),
        "\(wrong.text)")
      let missing = try await get("--tls", "--ca-file", "/none.pem")
      #expect(missing.status == 1 && missing.text.contains("--ca-file \"/none.pem\" cannot be read"), "\(missing.text)")
      let stranger = try LineProcess(
        python,
        [
          "-c", Self.proxy, try file("stranger.pem", TestAuthority.stranger),
          try file("stranger-key.pem", TestAuthority.strangerKey), "\(place.server.port)",
        ])
      defer { stranger.killAtOnce() }
      let otherPort = try #require(await stranger.nextLine())
      let unnamed = try await Programs.runInBackground(
        Programs.product("hearth"),
        ["data", "get", "a/b", "--host", "127.0.0.1:\(otherPort)", "--tls", "--ca-file", own])
      #expect(
        unnamed.status == 1 && unnamed.text.contains("is not one for 127.0.0.1:\(otherPort)")
          && unnamed.text.contains("subjectAltName=IP:127.0.0.1"), "\(unnamed.text)")
      let address = try file("address.pem", TestAuthority.addressOnly)
      let addressed = try LineProcess(
        python,
        ["-c", Self.proxy, address, try file("address-key.pem", TestAuthority.addressOnlyKey), "\(place.server.port)"])
      defer { addressed.killAtOnce() }
      let addressPort = try #require(await addressed.nextLine())
      for (host, status) in [("127.0.0.1", Int32(0)), ("localhost", 1)] {
        let output = try await Programs.runInBackground(
          Programs.product("hearth"),
          [
            "data", "get", "a/b", "--project", "demo", "--host", "\(host):\(addressPort)", "--tls", "--ca-file",
            address,
          ])
        #expect(output.status == status, "\(output.text)")
        #expect(status == 0 || output.text.contains("is not one for localhost:\(addressPort)"), "\(output.text)")
      }
      let plain = try await get("--ca-file", own)
      #expect(plain.status == 64 && plain.text.contains("Add --tls, or leave out --ca-file."), "\(plain.text)")
    }
  }
}
