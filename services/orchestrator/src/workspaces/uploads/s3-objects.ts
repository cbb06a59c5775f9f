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
import { createOutgoingAgents, type OutgoingProxy } from '@uswarm/service-kit/outgoing';
import { type ObjectStore, ObjectMissing } from '../../records/object-store.js';

export interface S3Options {
  /** Default: the region's AWS endpoint. */
  endpoint?: string;
  region: string;
  bucket: string;
  prefix: string;
  /** Default: the SDK's credential chain, such as the pod's role. */
  credentials?: { accessKeyId: string; secretAccessKey: string };
  /** Uses `<endpoint>/<bucket>/…` instead of `<bucket>.<endpoint>/…`. */
  pathStyle: boolean;
  proxy: OutgoingProxy;
}

/** S3's minimum part size. Each upload keeps one or two parts in memory. */
const PART_BYTES = 5 * 1024 * 1024;

const TIMEOUTS = {
  connectionTimeout: 3_000,
  /** Time until the response begins, including one part's transfer. */
  requestTimeout: 60_000,
  throwOnRequestTimeout: true,
  /** Idle time per connection. A slow reader pauses a download. */
  socketTimeout: 120_000,
};

/** Works with any S3-compatible server. */
export function createS3Objects({ bucket, prefix, pathStyle, proxy, ...options }: S3Options): ObjectStore {
  const agents = createOutgoingAgents(proxy, { maxSockets: 256, connectMs: TIMEOUTS.connectionTimeout });
  const client = new S3Client({
    ...options,
    forcePathStyle: pathStyle,
    maxAttempts: 3,
    // Many S3-compatible servers reject AWS's newer checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { ...TIMEOUTS, httpAgent: agents.httpAgent, httpsAgent: agents.httpsAgent },
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
      // Do not call `upload.abort()`: it rejects before the parts are deleted. A content error deletes them first.
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

    close() {
      client.destroy();
      agents.close();
    },
  };
}
