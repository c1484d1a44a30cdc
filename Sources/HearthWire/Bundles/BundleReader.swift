package import HearthModel

/// Splits a bundle into its elements, as the bytes arrive.
///
/// A bundle is a sequence of elements, each a decimal length in bytes and that many bytes of JSON (Firestore bundle format). Only the
/// incomplete element is kept.
package struct BundleReader {
  /// More than the largest document of any edition takes in JSON.
  private static let maximumElementSize = 128 << 20

  /// Twice the number of values in a document of 1 MiB, whose smallest values take a byte each and are two values of JSON.
  ///
  /// Reading an element of that many values was measured to take 0.5 GB; one of the maximum size would take 8 GB without this limit.
  package static let maximumValueCount = 1 << 22

  /// An element, and its size in the bundle, including the length.
  package struct Sized {
    package var element: BundleElement
    package var byteCount: Int
    fileprivate var number: Int
    fileprivate var offset: Int

    /// Returns an error about the element at its place.
    package func failure(_ message: String) -> BundleError {
      BundleError(element: number, at: offset, message)
    }
  }

  private let decoder: BundleElementDecoder
  private var buffer: [UInt8] = []
  /// The number of bytes of the buffer that have been read.
  private var consumed = 0
  private var elementCount = 0
  private var offset = 0

  /// - Parameter maximumValueCount: The number of JSON values that an element may have.
  package init(databaseID: DatabaseID, maximumValueCount: Int = Self.maximumValueCount) {
    decoder = BundleElementDecoder(databaseID: databaseID, maximumValueCount: maximumValueCount)
  }

  package mutating func append(_ bytes: some Sequence<UInt8>) {
    if consumed > 0 {
      buffer.removeFirst(consumed)
      consumed = 0
    }
    buffer += bytes
  }

  /// The next element; nil if more bytes are needed.
  package mutating func next() throws(BundleError) -> Sized? {
    guard let (length, digits) = try elementLength() else { return nil }
    let start = consumed + digits
    guard buffer.count - start >= length else { return nil }
    let element: BundleElement
    do {
      element = try decoder.decode(buffer[start..<start + length])
    } catch {
      throw failure(error.description)
    }
    let sized = Sized(element: element, byteCount: digits + length, number: elementCount + 1, offset: offset)
    consumed = start + length
    offset += sized.byteCount
    elementCount += 1
    return sized
  }

  /// Ends the input.
  ///
  /// - Throws: if an element is incomplete.
  package func finish() throws(BundleError) {
    guard consumed == buffer.count else { throw failure("the bundle ends within the element") }
  }

  /// Returns an error about the next element.
  package func failure(_ message: String) -> BundleError {
    BundleError(element: elementCount + 1, at: offset, message)
  }

  private func elementLength() throws(BundleError) -> (length: Int, digits: Int)? {
    var length = 0
    for index in consumed..<buffer.count {
      let byte = buffer[index]
      if byte == UInt8(ascii: "{") {
        guard index > consumed else { throw failure("its length is missing") }
        return (length, index - consumed)
      }
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else {
        throw failure("its length is followed by JSON; byte \(byte) is neither a digit nor \"{\"")
      }
      length = length * 10 + Int(byte - UInt8(ascii: "0"))
      guard length <= Self.maximumElementSize, index - consumed < 20 else {
        throw failure("its length is more than \(Self.maximumElementSize) bytes")
      }
    }
    return nil
  }
}
