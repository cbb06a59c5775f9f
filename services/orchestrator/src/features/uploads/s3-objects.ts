import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  NoSuchKey,
  S3Client,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { type ObjectStore, ObjectMissing } from './object-store.js';

export interface S3Options {
  /** Absent: Amazon's own for the region. */
  endpoint?: string;
  region: string;
  bucket: string;
  /** What keys begin with. */
  prefix: string;
  /** Absent: found by the SDK, as a role of the pod or the machine. */
  credentials?: { accessKeyId: string; secretAccessKey: string };
  /** `<endpoint>/<bucket>/…` in place of `<bucket>.<endpoint>/…`. */
  pathStyle: boolean;
}

/** The smallest that S3 takes: so much of each upload is in memory, twice for a moment. */
const PART_BYTES = 5 * 1024 * 1024;

const TIMEOUTS = {
  connectionTimeout: 3_000,
  /** Until the answer begins; a part of an upload has to be sent by then. */
  requestTimeout: 60_000,
  throwOnRequestTimeout: true,
  /** A download may stand still so long, because its reader does. */
  socketTimeout: 120_000,
};

/** Objects of a bucket of any server that speaks S3. */
export function createS3Objects({ bucket, prefix, pathStyle, ...options }: S3Options): ObjectStore {
  const client = new S3Client({
    ...options,
    forcePathStyle: pathStyle,
    maxAttempts: 3,
    // Newer checksums are Amazon's own; many servers refuse them.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { ...TIMEOUTS, httpAgent: { maxSockets: 256 }, httpsAgent: { maxSockets: 256 } },
  });
  const at = (key: string) => ({ Bucket: bucket, Key: `${prefix}${key}` });

  async function abortParts(key: string): Promise<void> {
    const { Key } = at(key);
    const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: Key }));
    for (const { Key: found, UploadId } of Uploads) {
      if (found === Key) await client.send(new AbortMultipartUploadCommand({ ...at(key), UploadId }));
    }
  }

  return {
    async put(key, content) {
      const params = { ...at(key), Body: content, ContentType: 'application/octet-stream' };
      // Not by its abort(): that rejects before the parts are dropped. A content that fails ends it
      // as well, and then it drops them first.
      const upload = new Upload({ client, params, partSize: PART_BYTES, queueSize: 1 });
      try {
        await upload.done();
      } finally {
        content.destroy();
      }
    },

    async open(key, range) {
      try {
        const { Body } = await client.send(
          new GetObjectCommand({
            ...at(key),
            ...(range === undefined ? {} : { Range: `bytes=${range.start}-${range.end}` }),
          }),
        );
        if (Body instanceof Readable) return Body;
        throw new Error('the store answered without a body');
      } catch (error) {
        throw error instanceof NoSuchKey ? new ObjectMissing(key) : error;
      }
    },

    async remove(key) {
      await abortParts(key);
      await client.send(new DeleteObjectCommand(at(key)));
    },

    close: () => client.destroy(),
  };
}
