internal import BenchmarkKit

/// The groups, in the order of the table. A new group is a file with a list of benchmarks, and a line here.
@main
enum Main {
  static func main() {
    let groups: [[Benchmark]] = [
      ApplyBenchmarks.all, QueryBenchmarks.all, WriteBenchmarks.all, ReadBenchmarks.all, SyncBenchmarks.all,
      OutboxBenchmarks.all, CollectionBenchmarks.all, BackgroundQueryBenchmarks.all, IndexBenchmarks.all,
      ComplaintBenchmarks.all, SharingBenchmarks.all, ReceiptBenchmarks.all, ConflictBenchmarks.all,
      AggregateBenchmarks.all,
    ]
    Suite(groups.flatMap(\.self), makeFixtures: Fixtures.make).main()
  }
}
