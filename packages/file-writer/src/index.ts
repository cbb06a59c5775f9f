export { createFileWriter, type FileWriter, type FileWriterOptions, type WriteOptions } from './create-file-writer.js';
export { FILE_TYPES, FileNotWritten, type FileRequest, type FileType, type WrittenFile } from './file-types.js';
