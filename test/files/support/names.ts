/** Names that come back just as they were given, each with what it is about. */
export const KEPT_NAMES: readonly (readonly [what: string, name: string])[] = [
  ['plain', 'report.csv'],
  ['an apostrophe that is no ASCII', 'D\u2019Arcy.jpg'],
  ['an apostrophe', "it's.txt"],
  ['quotes', 'say "hi".txt'],
  ['a header of its own in quotes', 'x"; filename="evil.exe'],
  ['commas and semicolons', 'a,b;c=d.txt'],
  ['percent signs', '100%.txt'],
  ['percent-encoding, which stays', '%22%2F%00.txt'],
  ['a plus sign', 'a+b c.txt'],
  ['Japanese', '\u58f2\u4e0a\u5206\u6790.xlsx'],
  ['Arabic', '\u062a\u0642\u0631\u064a\u0631.pdf'],
  ['an emoji', '\u{1f600}.png'],
  ['a no-break space', 'a\u00a0b.txt'],
  ['NFC', 'caf\u00e9.txt'],
  ['NFD', 'cafe\u0301.txt'],
  ['a line separator', 'a\u2028b.txt'],
  ['a replacement character', 'a\ufffdb.txt'],
  ['a byte order mark', '\ufeffa.txt'],
  ['a right-to-left override', 'a\u202egpj.exe'],
  ['spaces at its ends', ' a.txt '],
  ['dots', '...'],
  ['what Windows refuses', 'a<b>c:d|e?f*g.txt'],
  ['255 code points of 4 bytes', '\u{1f600}'.repeat(255)],
  ['one character', 'x'],
]

/** Names of which the last path part is kept. */
export const SHORTENED_NAMES: readonly (readonly [name: string, kept: string])[] = [
  ['/etc/passwd', 'passwd'],
  ['C:\\dir\\a.txt', 'a.txt'],
  ['../../a.txt', 'a.txt'],
  ['a\\b/c', 'c'],
  ['a/b\\c', 'c'],
  [`${'d'.repeat(300)}/e`, 'e'],
]

/** Names that are refused. */
export const REFUSED_NAMES: readonly (readonly [what: string, name: string])[] = [
  ['nothing', ''],
  ['nothing behind a slash', 'a/'],
  ['nothing behind a backslash', 'a\\'],
  ['a dot', '.'],
  ['two dots', 'a/..'],
  ['256 code points', 'x'.repeat(256)],
  ['a NUL', 'a\u0000b'],
  ['a line feed', 'a\nb'],
  ['a carriage return', 'a\rb'],
  ['a unit separator', 'a\u001fb'],
  ['a DEL', 'a\u007fb'],
  ['the first of C1', 'a\u0080b'],
  ['the last of C1', 'a\u009fb'],
  ['a high half surrogate', 'a\ud83db'],
  ['a low half surrogate', '\ude00'],
]
