import { type GoProgram, goProgram, missingGoProgram } from '../go/go-program.js';
import type { MissingPart } from '../missing-part.js';

/** npm and PyPI have no maintained S3 server with multipart uploads. */
const VERSITYGW: GoProgram = {
  name: 'versitygw',
  from: { package: 'github.com/versity/versitygw/cmd/versitygw' },
  version: 'v1.8.0',
  purpose: 'an S3 server',
};

export const missingS3 = (): MissingPart | undefined => missingGoProgram(VERSITYGW);

/** The server program's path; the first call builds it in a few minutes. @throws LocalError */
export const s3Program = (): Promise<string> => goProgram(VERSITYGW);
