/// What ends a command, as a person reads it.
package struct Failure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// Text from files and databases, with what a terminal would act on spelled out.
package func visible(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { text, scalar in
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator:
            text += "\\u{\(String(scalar.value, radix: 16))}"
        default: text.unicodeScalars.append(scalar)
        }
    }
}
