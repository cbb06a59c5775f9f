import { type GoProgram, goProgram, missingGoProgram } from '../go-program.js';
import type { MissingPart } from '../missing-part.js';

// The Go module of the same name: npm and PyPI have no S3 server that is kept up and has multipart uploads.
const VERSION = 'v1.8.0';

const program: GoProgram = {
  what: 'an S3 server',
  file: `versitygw-${VERSION}`,
  binary: 'versitygw',
  packages: [`github.com/versity/versitygw/cmd/versitygw@${VERSION}`],
};

/** `undefined` when the server is here or can be built. */
export const missingS3 = (): MissingPart | undefined => missingGoProgram(program);

/** The server program: a few minutes the first time. @throws LocalError */
export const s3Program = (): Promise<string> => goProgram(program);
