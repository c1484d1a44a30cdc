internal import BenchmarkKit
internal import Foundation

/// One run of `scripts/bench --server`: the servers side by side, one line after the other, the columns of a line in turns.
final class ServerRun {
  struct Options {
    var isQuick = false
    var filter = ""
    var columns = Column.usual
    var lines = CallLines.all + ListenLines.all + MemoryLines.all
    /// The folder for the charts; nil for none.
    var results: String?
    /// Go's load generator, if it could be built.
    var load: String?

    init(_ words: [String]) throws {
      var words = words[...]
      while let word = words.popFirst() {
        switch word {
        case "run": break
        case "--quick": isQuick = true
        case "--codec": columns = [.hearth, .memory, .emulator, .echo, .codec, .sqlite]
        case "--locked": (lines, columns) = (LockedLines.all, Column.withLocked)
        case "--cluster": (lines, columns) = (ClusterLines.all, Column.withCluster)
        case "--filter": filter = words.popFirst() ?? ""
        case "--load": load = words.popFirst()
        case "--results": results = words.popFirst()
        default:
          throw Failure(
            "usage: scripts/bench --server [--quick] [--codec | --locked | --cluster] [--filter TEXT] [--results FOLDER]"
          )
        }
      }
    }
  }

  /// The program and the data of one column for the lines about a large collection.
  struct Large {
    var folder: String
    var server: ServerProcess?
    var floor: SQLiteFloor?
  }

  /// The documents of the collection that most lines use.
  static let documentCount = 20_000

  let isQuick: Bool
  let floor: SQLiteFloor
  private let options: Options
  private var columns: [Column] { options.columns }
  private let folder: String
  private var servers: [Column: ServerProcess] = [:]
  /// The nodes of ``Column/nodes`` after the first one.
  private(set) var others: [ServerProcess] = []
  private var large: [Column: Large] = [:]
  private let load: Load
  let access: AccessFiles
  private let cluster: ClusterHosts?

  init(_ options: Options) async throws {
    self.options = options
    isQuick = options.isQuick
    folder = NSTemporaryDirectory() + "/hearth-server-bench-" + UUID().uuidString
    load = Load(command: options.load.map { [$0] } ?? [CommandLine.arguments[0], SwiftLoad.command])
    try FileManager.default.createDirectory(atPath: folder + "/floor", withIntermediateDirectories: true)
    try FileManager.default.createDirectory(atPath: folder + "/access", withIntermediateDirectories: true)
    access = try await AccessFiles(in: folder + "/access")
    cluster = options.columns.contains(.cluster) ? try await ClusterHosts() : nil
    floor = try SQLiteFloor(folder: folder + "/floor", documentCount: Self.documentCount)
  }

  /// Seconds for one measurement of calls that repeat.
  var seconds: Double { isQuick ? 0.8 : 4 }

  func run() throws {
    defer {
      for server in servers.values { server.stop() }
      for server in others { server.stop() }
      for known in large.values { known.server?.stop() }
      try? FileManager.default.removeItem(atPath: folder)
    }
    for column in columns { servers[column] = try start(column) }
    if let cluster { others = try (2...4).map { try cluster.start(node: $0) } }
    if options.load == nil {
      print(
        "Go or its Firestore client: not installed (Debian: golang-go golang-google-cloud-dev); calls come from Swift\n"
      )
    }
    if columns.contains(.emulator), servers[.emulator] == nil {
      print("emulator: not installed (gcloud components install cloud-firestore-emulator)\n")
    }
    print(ServerTable.header(columns))
    var previous: MeasuredLine?
    var missed: [String] = []
    var all: [MeasuredLine] = []
    for line in options.lines {
      // Without the documents nothing can be measured.
      guard options.filter.isEmpty || line.name.contains(options.filter) || line.name == "fill" else { continue }
      let measured = try measure(line)
      print(ServerTable.row(measured, columns, previous: previous))
      fflush(nil)
      if measured.verdict(previous: previous)?.isMet == false { missed.append(line.title) }
      previous = measured
      all.append(measured)
    }
    if let results = options.results { try ServerCharts.write(all, columns, to: results) }
    print("\ngoals missed: \(missed.isEmpty ? "none" : "\(missed.count)")")
    for title in missed { print("  " + title) }
  }

  private func measure(_ line: Line) throws -> MeasuredLine {
    var all: [Column: [Reading]] = [:]
    for round in 0..<(isQuick ? line.rounds.quick : line.rounds.full) {
      // The order changes from round to round, so that none always has the machine as another one left it.
      for column in round.isMultiple(of: 2) ? columns : columns.reversed() {
        if column.isInMemory, !line.hasMemory { continue }
        all[column, default: []].append(isInstalled(column) ? try line.measure(column, self) : .note("not installed"))
      }
    }
    return MeasuredLine(line: line, readings: all.mapValues(Self.median), ratios: Self.ratios(all))
  }

  private static func ratios(_ readings: [Column: [Reading]]) -> [Column: Double] {
    var ratios: [Column: Double] = [:]
    for (column, compared) in readings {
      guard let baseline = column.baseline.flatMap({ readings[$0] }) else { continue }
      let values = zip(compared, baseline).compactMap { compared, baseline in
        compared.value.flatMap { value in baseline.value.map { value / $0 } }
      }
      ratios[column] = percentile(50, of: values)
    }
    return ratios
  }

  private static func median(_ readings: [Reading]) -> Reading {
    let sorted = readings.filter { $0.value != nil }.sorted { $0.value ?? 0 < $1.value ?? 0 }
    return sorted.isEmpty ? readings.first ?? .none : sorted[sorted.count / 2]
  }

  // MARK: - For the lines

  func isInstalled(_ column: Column) -> Bool { column == .sqlite || servers[column] != nil }

  /// The column's server that all lines share.
  func server(_ column: Column) throws -> ServerProcess {
    guard let server = servers[column] else { throw Failure("\(column.rawValue) is not running") }
    return server
  }

  /// Writes a collection that a line needs.
  func fill(_ collection: String, on server: ServerProcess, _ options: [String: Double]) throws {
    let reading = try measure("fill", on: server, collection: collection, options)
    if let note = reading.note, reading.rate == nil { throw Failure("\(collection) could not be filled: \(note)") }
  }

  /// Lets the load generator measure a scenario on a server.
  func measure(
    _ scenario: String, on server: ServerProcess, collection: String = "places", _ options: [String: Double] = [:]
  ) throws -> Load.Reading {
    try measure(scenario, onEachOf: [server], collection: collection, options)[0]
  }

  /// Does the same with several servers at once.
  func measure(
    _ scenario: String, onEachOf servers: [ServerProcess], collection: String = "places",
    _ options: [String: Double] = [:]
  ) throws -> [Load.Reading] {
    var options = options
    options["documents"] = options["documents"] ?? Double(Self.documentCount)
    options["seconds"] = options["seconds"] ?? seconds
    options["deadline"] = options["deadline"] ?? (isQuick ? 40 : 600)
    return try load.run(scenario, onEachOf: servers, options, collection: collection)
  }

  /// Runs `body` with a server of its own that has no documents.
  func withServer<T>(_ column: Column, _ body: (ServerProcess) throws -> T) throws -> T? {
    guard let server = try start(column) else { return nil }
    defer { server.stop() }
    return try body(server)
  }

  /// The column with a large collection, "many": a floor or a server of its own, made when it is first needed.
  func large(_ column: Column, documentCount: Int) throws -> Large {
    if let known = large[column] { return known }
    let folder = try makeFolder()
    var made = Large(folder: folder)
    switch column {
    case .sqlite:
      made.floor = try SQLiteFloor(folder: folder, documentCount: documentCount)
      _ = try made.floor?.fill()
    // The second one has a whole result in memory.
    case .emulator where isQuick, .codec where !isQuick: break
    default:
      let server = try start(column, folder: folder)
      made.server = server
      // The echo knows the first document only, and as many as it is asked for are made of it.
      let stored = column == .echo || column == .codec ? 400 : documentCount
      if let server { try fill("many", on: server, ["documents": Double(stored), "clients": 4, "deadline": 1200]) }
    }
    large[column] = made
    return made
  }

  /// Restarts Hearth's server of the large collection.
  func restartLarge() throws -> ServerProcess {
    guard let known = large[.hearth] else { throw Failure("there is no large collection") }
    known.server?.stop()
    let server = try ServerProcess([ServerProcess.hostCommand, known.folder])
    large[.hearth]?.server = server
    return server
  }

  /// An empty folder, deleted at the end.
  func makeFolder() throws -> String {
    let path = folder + "/" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }

  private func start(_ column: Column) throws -> ServerProcess? {
    try start(column, folder: try makeFolder())
  }

  private func start(_ column: Column, folder: String) throws -> ServerProcess? {
    switch column {
    case .hearth: try ServerProcess([ServerProcess.hostCommand, folder])
    case .memory: try ServerProcess([ServerProcess.hostCommand])
    case .locked, .lockedMemory, .tlsMemory, .tokensMemory:
      try ServerProcess(
        [ServerProcess.hostCommand] + access.hostArguments(column.protection) + (column.isInMemory ? [] : [folder]),
        loadArguments: access.loadArguments(column.protection))
    case .emulator: try ServerProcess.emulator(in: folder)
    case .echo: try ServerProcess([EchoService.command])
    case .codec: try ServerProcess([EchoCodec.command])
    case .cluster, .nodes: try cluster?.start(node: column == .cluster ? 0 : 1)
    case .sqlite: nil
    }
  }
}
