// Programs written for the official SDK get Foundation and Dispatch with it, so `import Hearth` re-exports both.
@_exported public import Dispatch
@_exported public import Foundation
