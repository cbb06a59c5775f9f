import { ListMultipartUploadsCommand, ListObjectsV2Command, ListPartsCommand, S3Client } from '@aws-sdk/client-s3';
import type { RunningS3 } from '@uswarm/dev-servers';

/** Settings for an orchestrator that stores files in this bucket. */
export function s3Environment({ endpoint, region, bucket, accessKeyId, secretAccessKey }: RunningS3) {
  return {
    OBJECT_STORE: 's3',
    S3_ENDPOINT: endpoint,
    S3_REGION: region,
    S3_BUCKET: bucket,
    S3_ACCESS_KEY_ID: accessKeyId,
    S3_SECRET_ACCESS_KEY: secretAccessKey,
  };
}

/** Reads the bucket from the server. */
export interface BucketView {
  objects(): Promise<string[]>;
  /** Multipart uploads that were neither completed nor aborted. */
  unfinished(): Promise<{ key: string; parts: number }[]>;
  client: S3Client;
}

export function viewBucket({ endpoint, region, bucket, accessKeyId, secretAccessKey }: RunningS3): BucketView {
  const client = new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
    requestChecksumCalculation: 'WHEN_REQUIRED',
  });
  return {
    client,
    async objects() {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }));
      return Contents.map(({ Key }) => Key ?? '');
    },
    async unfinished() {
      const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
      const counted = Uploads.map(async ({ Key = '', UploadId }) => {
        const { Parts = [] } = await client.send(new ListPartsCommand({ Bucket: bucket, Key, UploadId }));
        return { key: Key, parts: Parts.length };
      });
      return Promise.all(counted);
    },
  };
}
