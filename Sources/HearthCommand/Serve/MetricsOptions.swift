internal import ArgumentParser
internal import HearthServer

/// Where `hearth serve` serves its metrics.
struct MetricsOptions: ParsableArguments {
  @Option(help: "Serve metrics in the text format of Prometheus at http://HOST:PORT/metrics; 0 lets the system choose.")
  var metricsPort: Int?

  @Option(help: "The IP address to serve metrics on.")
  var metricsHost = "127.0.0.1"

  @Flag(
    help: "Allow a --metrics-host that other machines can reach: everyone who reaches it may read the metrics.")
  var openMetricsToEveryone = false

  func validate() throws {
    guard (0...65535).contains(metricsPort ?? 0) else {
      throw ValidationError("--metrics-port is \(metricsPort ?? 0): choose one between 0 and 65535.")
    }
  }

  /// The host as it stands in a URL.
  var addressText: String { metricsHost.contains(":") ? "[\(metricsHost)]" : metricsHost }

  /// Serves what a server reports; nil if that was not asked for.
  ///
  /// - Parameters:
  ///   - server: The server.
  ///   - metrics: The metrics that it serves; nil if it counts nothing.
  ///   - hosts: Further names of this machine, as of `--allow-host`.
  func endpoint(
    of server: EmbeddedServer, _ metrics: PrometheusMetrics?, hosts: [String] = []
  ) async throws -> MetricsEndpoint? {
    guard let metricsPort, let metrics else { return nil }
    return try await MetricsEndpoint.start(
      host: metricsHost, port: metricsPort, openToEveryone: openMetricsToEveryone, hosts: hosts
    ) {
      server.reportUse()
      return PrometheusText.text(of: metrics)
    }
  }
}
