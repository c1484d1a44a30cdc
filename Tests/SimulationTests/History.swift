import HearthStore

/// The ways in which a history differs from others. They follow from its seed alone.
struct History {
  /// The kind of cache, and the faults that are injected.
  enum Kind: String, CaseIterable {
    /// Nothing is collected, so that every view can be foretold exactly.
    case exact
    /// As `exact`, in a file.
    case file
    /// As `file`, and every query runs in the background, for some steps.
    case background
    /// Documents that nobody needs go at once.
    case eager
    /// Old documents are collected now and then.
    case collected
    /// Statements and commits fail.
    case failing
    /// As `failing`, and users change all the time.
    case users
    /// Copies of the cache's folder are put back, and run as devices of their own.
    case copies
    /// The backend says things that cannot be understood.
    case poison
    /// Columns of rows become something else.
    case damagedRows
    /// Pages of the file become something else.
    case damagedPages

    init(seed: UInt64) {
      self =
        switch seed % 20 {
        case 0..<4: .exact
        case 4: seed / 20 % 2 == 0 ? .file : .background
        case 5: .eager
        case 6: .collected
        case 7: .failing
        case 8, 9: .users
        case 10..<13: .copies
        case 13..<15: .poison
        case 15..<18: .damagedRows
        default: .damagedPages
        }
    }
  }

  /// SQLite refuses statements and commits, from one of them on.
  struct Disturbance {
    /// The number of statements and commits that succeed before.
    var position: Int
    /// The number of statements and commits that then fail.
    var length: Int
    var kind: StoreError.Kind
  }

  var kind: Kind
  var disturbance: Disturbance?
  /// The probability, in percent, of a change of the user before a step, in addition to the changes that are steps themselves.
  var userChangeChance = 0
  /// A backend that knows no labels commits a batch again whose answer was lost.
  var backendKnowsLabels = true

  init(seed: UInt64) {
    self.init(seed: seed, kind: Kind(seed: seed))
  }

  init(seed: UInt64, kind: Kind) {
    self.kind = kind
    // Not the generator of the steps: a kind that is asked for by name has the same steps as the seed's own.
    var generator = HistoryGenerator(seed: ~seed)
    let failures: [StoreError.Kind] = [.full, .io, .readOnly, .unavailable, .corrupt]
    let disturbance = Disturbance(
      position: Int.random(in: 0..<800, using: &generator), length: Int.random(in: 1...150, using: &generator),
      kind: generator.pick(failures))
    switch kind {
    case .exact, .file, .background, .eager, .collected: break
    case .failing: self.disturbance = disturbance
    case .users:
      self.disturbance = disturbance
      userChangeChance = 15
    case .copies, .poison, .damagedRows, .damagedPages:
      if generator.chance(30) { self.disturbance = disturbance }
      if generator.chance(30) { userChangeChance = 15 }
    }
    // Each such failure makes a client with a file begin with a new one, and some of that are enough.
    if isInFile, self.disturbance?.kind == .corrupt { self.disturbance?.length = min(disturbance.length, 30) }
    // A batch that comes back with an old folder, or from a damaged file, is known by its label alone.
    if kind != .copies, !isDamaged { backendKnowsLabels = generator.chance(80) }
  }

  /// True if the cache is a file.
  var isInFile: Bool { [.file, .background, .copies, .damagedRows, .damagedPages].contains(kind) }

  /// True if the cache's file is damaged.
  var isDamaged: Bool { [.damagedRows, .damagedPages].contains(kind) }

  /// True if the reference foretells every view and answer: nothing fails without its knowledge.
  var isExact: Bool { [.exact, .file, .background, .copies].contains(kind) && disturbance == nil }
}
