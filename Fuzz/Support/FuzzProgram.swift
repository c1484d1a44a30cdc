// The entry points of libFuzzer (https://llvm.org/docs/LibFuzzer.html). See scripts/fuzz.
internal import Foundation
internal import Synchronization

/// A program that libFuzzer feeds with inputs.
package enum FuzzProgram {
  /// A function in a structure: one by itself would be wrapped again each time that the generic lock hands it over.
  private struct Body {
    let run: @Sendable ([UInt8]) -> Void
  }

  private static let body = Mutex<Body?>(nil)

  private static let environment = ProcessInfo.processInfo.environment
  /// The processor time of one input, in seconds. libFuzzer can only limit the time that passes, which on a busy machine says little.
  private static let longestTime = Double(environment["HEARTH_FUZZ_SECONDS"] ?? "") ?? 1

  /// Writes inputs to begin with into the folder that `HEARTH_FUZZ_SEEDS` names, carries each out once, so that tables which a process makes
  /// once are there, and hands over to libFuzzer. Does not return.
  ///
  /// - Parameter body: Carries out an input. It ends the process if something is wrong.
  package static func run(seeds: [[UInt8]], _ body: @escaping @Sendable ([UInt8]) -> Void) throws -> Never {
    if let folder = environment["HEARTH_FUZZ_SEEDS"] {
      for (number, seed) in seeds.enumerated() {
        try Data(seed).write(to: URL(fileURLWithPath: folder).appendingPathComponent("seed-\(number)"))
      }
    }
    for seed in seeds { body(seed) }
    self.body.withLock { $0 = Body(run: body) }
    var count = CommandLine.argc
    var arguments: Arguments = CommandLine.unsafeArgv
    exit(runDriver(&count, &arguments, testOneInput))
  }

  fileprivate static func run(_ input: [UInt8]) {
    let body = body.withLock { $0 }
    let start = processorTime
    body?.run(input)
    let time = processorTime - start
    if time > longestTime { fatalError("an input of \(input.count) bytes took \(time) s of processor time") }
  }

  /// The processor time of the process in seconds, with all of its threads.
  private static var processorTime: Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1_000_000_000
  }

  /// Waits for asynchronous work.
  package static func wait(for work: @escaping @Sendable () async -> Void) {
    let done = DispatchSemaphore(value: 0)
    Task {
      await work()
      done.signal()
    }
    done.wait()
  }
}

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  FuzzProgram.run(Array(UnsafeBufferPointer(start: start, count: count)))
  return 0
}

private typealias Arguments = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
private typealias TestOneInput = @convention(c) (UnsafePointer<UInt8>, Int) -> CInt

@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
  _ count: UnsafeMutablePointer<CInt>, _ arguments: UnsafeMutablePointer<Arguments>, _ test: TestOneInput
) -> CInt
