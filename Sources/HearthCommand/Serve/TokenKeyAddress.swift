import Foundation
import HearthAuthentication

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Keys that an issuer publishes at an https address.
final class TokenKeyAddress: TokenKeySource {
  let name: String
  let isLocal = false
  private let address: URL
  private let session: URLSession

  /// The time that an answer may take.
  private static let patience: TimeInterval = 10

  /// - Throws: `TokenKeyError` for an address that is not https. One of this machine may be http.
  init(_ text: String) throws(TokenKeyError) {
    name = "The keys at \(text)"
    guard let address = URL(string: text), let host = address.host, !host.isEmpty,
      address.scheme == "https"
        || address.scheme == "http" && ["127.0.0.1", "localhost", "[::1]", "::1"].contains(host)
    else {
      throw TokenKeyError("The address of keys is \"\(text)\", but must begin with https://")
    }
    self.address = address
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = Self.patience
    configuration.timeoutIntervalForResource = Self.patience
    session = URLSession(configuration: configuration, delegate: RedirectRefusal(), delegateQueue: nil)
  }

  deinit { session.invalidateAndCancel() }

  func read() async throws -> TokenKeyText? {
    let (data, response): (Data, URLResponse)
    do {
      (data, response) = try await session.data(from: address)
    } catch let error as CancellationError {
      throw error
    } catch {
      throw TokenKeyError("\(name) cannot be had: \(Self.reason(error))")
    }
    guard let response = response as? HTTPURLResponse, response.statusCode == 200 else {
      let status = (response as? HTTPURLResponse)?.statusCode ?? 0
      throw TokenKeyError("\(name) cannot be had: the status of the answer is \(status) instead of 200")
    }
    return TokenKeyText(
      data, maximumAge: Self.maximumAge(cacheControl: response.value(forHTTPHeaderField: "cache-control")))
  }

  /// The sentence of the system, without its full stop.
  private static func reason(_ error: any Error) -> String {
    let text = (error as NSError).localizedDescription
    return text.hasSuffix(".") ? String(text.dropLast()) : text
  }

  /// The time for which keys may be used without another look, by the header `Cache-Control`: within five minutes and a day; an hour if it says
  /// nothing.
  static func maximumAge(cacheControl: String?) -> Duration {
    let directives = cacheControl?.lowercased().split(separator: ",") ?? []
    for directive in directives {
      let parts = directive.split(separator: "=").map { $0.trimmingCharacters(in: .whitespaces) }
      guard parts.count == 2, parts[0] == "max-age", let seconds = Int64(parts[1]) else { continue }
      return .seconds(min(max(seconds, 300), 86_400))
    }
    return .seconds(3_600)
  }
}

/// Follows no redirection: it could lead to an address without encryption.
private final class RedirectRefusal: NSObject, URLSessionTaskDelegate, Sendable {
  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    completionHandler(nil)
  }
}
