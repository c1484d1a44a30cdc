import Foundation
import Metrics
import Testing

@testable import HearthCommand

@Suite("The text format of metrics")
struct PrometheusTextTests {
  private func lines(_ metrics: PrometheusMetrics, of name: String) -> [String] {
    PrometheusText.text(of: metrics).split(separator: "\n").map(String.init).filter { $0.contains(name) }
  }

  @Test("a family has HELP and TYPE once, and a line for each series in the order of its labels")
  func families() {
    let metrics = PrometheusMetrics(help: ["a.b": "What\n\\it is"])
    Counter(label: "a.b", dimensions: [("x", "2")], factory: metrics).increment(by: 5)
    Counter(label: "a.b", dimensions: [("x", "1")], factory: metrics).increment()
    Counter(label: "a.b", dimensions: [("x", "1")], factory: metrics).increment()
    #expect(
      lines(metrics, of: "a_b") == [
        #"# HELP a_b_total What\n\\it is"#, "# TYPE a_b_total counter", #"a_b_total{x="1"} 2"#, #"a_b_total{x="2"} 5"#,
      ])
  }

  @Test("the last line ends, and a gauge has the number that was recorded last")
  func gauges() {
    let metrics = PrometheusMetrics()
    let gauge = Gauge(label: "g", factory: metrics)
    gauge.record(1)
    gauge.record(2.5)
    #expect(lines(metrics, of: "g ") == ["# HELP g g", "# TYPE g gauge", "g 2.5"])
    #expect(PrometheusText.text(of: metrics).hasSuffix("\n"))
  }

  @Test(
    "label values are escaped",
    arguments: [
      ("plain", "plain"), ("a\"b", #"a\"b"#), (#"a\b"#, #"a\\b"#), ("a\nb", #"a\nb"#), ("\r\n", "\r\\n"), ("ü", "ü"),
      (#"\""#, #"\\\""#),
    ])
  func escaping(_ value: String, _ text: String) {
    let metrics = PrometheusMetrics()
    Counter(label: "c", dimensions: [("x", value)], factory: metrics).increment()
    #expect(PrometheusText.text(of: metrics).contains("c_total{x=\"\(text)\"} 1\n"))
  }

  @Test("names have only the characters that are allowed")
  func names() {
    #expect(PrometheusText.metricName("a.b-c ü:1") == "a_b_c___:1")
    #expect(PrometheusText.metricName("1a") == "_1a")
    #expect(PrometheusText.metricName("") == "_")
    #expect(PrometheusText.labelName("a:b") == "a_b")
    #expect(PrometheusText.labelName("le") == "label_le")
    #expect(PrometheusText.labelName("__name__") == "label___name__")
  }

  @Test("numbers are written as Prometheus reads them")
  func numbers() {
    let texts: [(Double, String)] = [
      (0, "0"), (-1, "-1"), (0.5, "0.5"), (1e300, "1e+300"), (.infinity, "+Inf"), (-.infinity, "-Inf"), (.nan, "NaN"),
    ]
    for (number, text) in texts { #expect(PrometheusText.describe(.real(number)) == text) }
    #expect(PrometheusText.describe(.whole(.max)) == "9223372036854775807")
  }

  @Test("the ranges of a histogram are cumulative, and a duration is in seconds")
  func histograms() {
    let metrics = PrometheusMetrics()
    let timer = Timer(label: "t", factory: metrics)
    for milliseconds in [1, 2, 40, 400_000] { timer.recordMilliseconds(milliseconds) }
    let text = lines(metrics, of: "t_seconds")
    let buckets = text.filter { $0.contains("_bucket") }
    let counts = buckets.compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }
    #expect(counts == counts.sorted())
    #expect(counts.count == HistogramSeries.seconds.count + 1)
    #expect(text.contains(#"t_seconds_bucket{le="0.0005"} 0"#))
    #expect(text.contains(#"t_seconds_bucket{le="0.001"} 1"#))
    #expect(text.contains(#"t_seconds_bucket{le="0.0025"} 2"#))
    #expect(text.contains(#"t_seconds_bucket{le="0.05"} 3"#))
    #expect(text.contains(#"t_seconds_bucket{le="300"} 3"#))
    #expect(text.contains(#"t_seconds_bucket{le="+Inf"} 4"#))
    #expect(text.contains("t_seconds_sum 400.043"))
    #expect(text.contains("t_seconds_count 4"))
  }

  @Test("what is no number changes nothing in a histogram")
  func notANumber() {
    let metrics = PrometheusMetrics()
    let recorder = Recorder(label: "r", factory: metrics)
    for value in [Double.nan, .infinity, 4] { recorder.record(value) }
    #expect(lines(metrics, of: "r_count") == ["r_count 1"])
    #expect(lines(metrics, of: "r_sum") == ["r_sum 4"])
  }

  @Test("updates from many tasks are all counted")
  func concurrency() async {
    let metrics = PrometheusMetrics()
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask {
          for index in 0..<1000 {
            Counter(label: "c", dimensions: [("x", "\(index % 10)")], factory: metrics).increment()
            Recorder(label: "r", factory: metrics).record(task)
            if index % 100 == 0 { _ = PrometheusText.text(of: metrics) }
          }
        }
      }
    }
    let counted = lines(metrics, of: "c_total{")
    #expect(counted.count == 10)
    #expect(counted.allSatisfy { $0.hasSuffix(" 800") })
    #expect(lines(metrics, of: "r_count") == ["r_count 8000"])
    #expect(lines(metrics, of: "r_sum") == ["r_sum \(1000 * (0..<8).reduce(0, +))"])
  }

  @Test("series beyond the limit are not kept, their number is shown, and those that are there go on")
  func cap() {
    let metrics = PrometheusMetrics(maximumSeries: 2)
    for value in ["a", "b", "c", "d", "a"] {
      Counter(label: "c", dimensions: [("x", value)], factory: metrics).increment()
    }
    #expect(lines(metrics, of: "c_total{") == [#"c_total{x="a"} 2"#, #"c_total{x="b"} 1"#])
    #expect(lines(metrics, of: PrometheusMetrics.refusedName).last == "\(PrometheusMetrics.refusedName) 2")
  }

  @Test("a name that has another type already gets no series")
  func conflict() {
    let metrics = PrometheusMetrics()
    Gauge(label: "n.total", factory: metrics).record(1)
    Counter(label: "n", factory: metrics).increment()
    #expect(lines(metrics, of: "n_total") == ["# HELP n_total n.total", "# TYPE n_total gauge", "n_total 1"])
    #expect(lines(metrics, of: PrometheusMetrics.refusedName).last?.hasSuffix(" 1") == true)
  }
}
