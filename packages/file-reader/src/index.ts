export { createFileReader, type FileReaderOptions, type ReaderLimits } from './create-file-reader.js';
export type { Crash } from './reader-process.js';
export {
  isProblem,
  type FilePart,
  type FileProblem,
  type FileReader,
  type FileSource,
  type FileText,
  type PagePicture,
  type Picture,
  type ProblemKind,
} from './file-reader.js';
export { inRanges, parseRanges } from './ranges.js';
export { selectText, type SelectedText, type TextRequest } from './select-text.js';
