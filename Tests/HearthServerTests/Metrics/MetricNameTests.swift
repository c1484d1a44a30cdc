import Foundation
import Metrics
import MetricsTestKit
import Testing

@testable import HearthRPC
@testable import HearthServer

/// The metrics of the server against the section "Limits and metrics" of docs/server.md.
@Suite("docs/server.md: limits and metrics")
struct MetricNameTests {
  /// The rows of the section's tables: the cells of each, with the words that are set as code.
  private static func rows() throws -> [[String]] {
    let file = URL(filePath: #filePath).appending(path: "../../../../docs/server.md").standardized
    let text = try String(contentsOf: file, encoding: .utf8)
    let section = try #require(text.components(separatedBy: "\n## Limits and metrics\n").dropFirst().first)
    let lines = section.components(separatedBy: "\n## ")[0].components(separatedBy: "\n")
    return lines.filter { $0.hasPrefix("| ") }.map { line in
      line.dropFirst(2).dropLast(2).components(separatedBy: " | ")
    }
  }

  private static func code(_ text: String) -> [String] {
    text.components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
  }

  @Test("names are unique, have the form of the facade, and stand in the table with their kinds and labels")
  func names() throws {
    let metrics = ServerMetric.allCases
    #expect(Set(metrics.map(\.rawValue)).count == metrics.count)
    let rows = try Self.rows()
    for metric in metrics {
      #expect(metric.rawValue.wholeMatch(of: /hearth\.server(\.[a-z]+)+/) != nil)
      let row = try #require(
        rows.first { Self.code($0[0]) == [metric.rawValue] }, "\(metric.rawValue) is not in the table")
      #expect(row[1] == metric.kind.rawValue, "\(metric.rawValue)")
      #expect(Self.code(row[2]) == metric.labels, "\(metric.rawValue)")
    }
  }

  @Test("each limit stands in the table once, and each row has a limit and flags")
  func limits() throws {
    let rows = try Self.rows().filter { $0.count == 5 && Self.code($0[4]).count == 1 }
    #expect(rows.map { Self.code($0[4])[0] }.sorted() == ServerLimit.allCases.map(\.rawValue).sorted())
    #expect(rows.allSatisfy { row in !row[1].isEmpty && Self.code(row[1]).allSatisfy { $0.hasPrefix("--") } })
  }

  /// The limits that are times, switches or groups of limits, and what counts their excess if something does.
  private static let others: Set<String> = [
    "connection", "credentialsInterval", "unreadTime", "webIdleTime", "webBodyTime", "transactionTime",
    "transactionIdleTime",
    "lockWait", "requiresIndexes", "historyTime", "hasAddressesOfClients", "activityMemory", "keepAliveTime",
    "keepAliveTimeout", "idlePings",
  ]

  @Test("each limit that is a number has a metric")
  func fields() {
    let (limits, databaseLimits) = (ServerLimits(), DatabaseLimits())
    let numbers = limits.numbers(with: databaseLimits)
    let names: [String: ServerLimit] = [
      "maximumConcurrentStreams": .streamsPerConnection, "busyPings": .pings, "unsentPingAnswers": .unsentPingAnswers,
      "resets": .resets, "emptyFrames": .emptyFrames, "strayFrames": .strayFrames,
      "writeAheadLogBytes": .writeAheadLogBytes,
    ]
    var found: Set<ServerLimit> = []
    let mirrors: [Any] = [limits, databaseLimits, limits.connection]
    for child in mirrors.flatMap({ Mirror(reflecting: $0).children }) {
      guard let label = child.label, !Self.others.contains(label) else { continue }
      let snake = label.replacing(/[A-Z]/) { "_" + $0.output.lowercased() }
      let limit = names[label] ?? ServerLimit.allCases.first { $0.rawValue == snake }
      #expect(limit != nil, "\(label) has no metric")
      guard let limit else { continue }
      found.insert(limit)
      if let number = child.value as? Int { #expect(numbers[limit] == number, "\(label)") }
    }
    #expect(found == Set(numbers.keys))
  }

  @Test("the labels of what is made at the start are those that are documented")
  func made() throws {
    let factory = TestMetrics()
    let metrics = try #require(ServerMetrics(factory, allowed: ServerLimits().numbers(with: DatabaseLimits())))
    metrics.callEnded("Commit", code: "OK", after: .milliseconds(1))
    metrics.sampled([:], ServerMetrics.Totals(certificateSeconds: 1), streams: ["Listen": 1])
    let cluster = ClusterMetrics(metrics.factory)
    cluster.sampled(isAvailable: true, [])
    let made =
      factory.counters.map { ($0.label, $0.dimensions) } + factory.recorders.map { ($0.label, $0.dimensions) }
      + factory.timers.map { ($0.label, $0.dimensions) }
    for (label, dimensions) in made {
      let metric = try #require(ServerMetric(rawValue: label), "\(label) is not documented")
      #expect(dimensions.map(\.0) == metric.labels, "\(label)")
    }
    #expect(Set(made.map(\.0)) == Set(ServerMetric.allCases.map(\.rawValue)))
  }
}
