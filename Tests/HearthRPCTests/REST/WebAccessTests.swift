import Testing

@testable import HearthRPC

@Suite("Pages and names that may use the server")
struct WebAccessTests {
  private func access(listening: String = "127.0.0.1") -> WebAccess {
    var access = WebAccess()
    access.listeningHost = listening
    access.origins = ["https://app.example.com"]
    access.hosts = ["db.internal"]
    return access
  }

  @Test(
    "hosts",
    arguments: [
      ("localhost", true), ("localhost:8080", true), ("LOCALHOST:8080", true), ("127.0.0.1:1", true),
      ("[::1]:80", true),
      ("[::1]", true), ("db.internal:8080", true), ("app.localhost", true), ("evil.com", false),
      ("evil.com:8080", false),
      ("127.0.0.1.evil.com", false), ("localhost.evil.com", false), ("", false), ("localhost:evil.com", false),
      ("[::1]evil.com", false), ("192.168.0.1", false), ("notlocalhost", false),
    ])
  func hosts(host: String, isAccepted: Bool) {
    #expect(access().accepts(host: host) == isAccepted)
  }

  @Test("a server on all addresses is called by any address, and a name has to be allowed")
  func anyAddress() {
    let access = access(listening: "0.0.0.0")
    #expect(access.accepts(host: "192.168.0.1:8080"))
    #expect(access.accepts(host: "[fe80::1]:8080"))
    #expect(!access.accepts(host: "evil.com"))
    #expect(!access.accepts(host: nil))
    #expect(self.access(listening: "10.0.0.7").accepts(host: "10.0.0.7:80"))
  }

  @Test(
    "origins",
    arguments: [
      ("http://localhost:5000", true), ("https://localhost", true), ("http://127.0.0.1:3000", true),
      ("http://[::1]:3000", true), ("https://app.example.com", true), ("https://APP.example.com", true),
      ("http://app.example.com", false), ("https://app.example.com.evil.com", false), ("null", false),
      ("http://localhost.evil.com", false), ("file://", false), ("", false), ("http://evil.com:80", false),
    ])
  func origins(origin: String, isAccepted: Bool) {
    #expect(access().accepts(origin: origin) == isAccepted)
  }

  @Test("a star allows all")
  func all() {
    var access = access()
    access.origins = ["*"]
    access.hosts = ["*"]
    #expect(access.accepts(origin: "http://evil.com"))
    #expect(access.accepts(host: "evil.com"))
  }
}
