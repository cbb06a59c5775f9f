import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { CreateMultipartUploadCommand, UploadPartCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DIRECT } from '@uswarm/service-kit/outgoing';
import { type RunningS3, S3_START_MS, startS3 } from '@uswarm/dev-servers';
import { describeWith } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { type BucketView, s3Environment, viewBucket } from '../../../test/s3.js';
import { createFileObjects } from './file-objects.js';
import { ObjectMissing, type ObjectStore } from '../../records/object-store.js';
import { createS3Objects } from './s3-objects.js';

const MIB = 1024 * 1024;

interface Place {
  objects: ObjectStore;
  /** Complete and partial objects. */
  stored: () => Promise<unknown[]>;
}

function fed(): { content: Readable; feed: (bytes: Buffer) => void } {
  const content = new Readable({ read: () => undefined });
  return { content, feed: (bytes) => void content.push(bytes) };
}

function behavesAsStore(place: () => Place): void {
  const put = async (content: Buffer): Promise<string> => {
    const key = randomUUID();
    await place().objects.put(key, Readable.from([content], { objectMode: false }));
    return key;
  };
  const read = async (...where: Parameters<ObjectStore['open']>): Promise<Buffer> =>
    buffer(await place().objects.open(...where));

  it.each([0, 1, 5 * MIB, 5 * MIB + 1, 12 * MIB])('returns the %d stored bytes', async (size) => {
    const content = randomBytes(size);
    expect((await read(await put(content))).equals(content)).toBe(true);
  });

  it('returns a part of an object', async () => {
    const key = await put(Buffer.from('0123456789'));
    expect(String(await read(key, { start: 2, end: 5 }))).toBe('2345');
  });

  it('reports a missing object', async () => {
    await expect(place().objects.open(randomUUID())).rejects.toThrow(ObjectMissing);
  });

  it('removes an object, also one that is already deleted', async () => {
    const key = await put(Buffer.from('x'));
    for (let times = 0; times < 2; times += 1) await place().objects.remove(key);
    await expect(place().objects.open(key)).rejects.toThrow(ObjectMissing);
  });

  it.each([
    ['before the first part is stored', MIB],
    ['after the first part is stored', 7 * MIB],
  ])('deletes the partial object if the content fails %s', async (_when, size) => {
    const before = await place().stored();
    const { content, feed } = fed();
    const putting = place().objects.put(randomUUID(), content);
    feed(randomBytes(size));
    await eventually(() => content.readableLength, { until: (left) => left === 0 });
    content.destroy(new Error('broken off'));
    await expect(putting).rejects.toThrow('broken off');
    expect(await place().stored()).toEqual(before);
  });
}

describe('the object store in a folder', () => {
  let folder: string;
  let place: Place;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'uswarm-objects-'));
    const stored = async () => {
      const entries = await readdir(folder, { recursive: true, withFileTypes: true });
      return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
    };
    place = { objects: createFileObjects(folder), stored };
  });
  afterAll(() => rm(folder, { recursive: true }));

  behavesAsStore(() => place);

  it('creates an object atomically, readable only by its owner', async () => {
    const [{ content, feed }, key] = [fed(), randomUUID()];
    const putting = place.objects.put(key, content);
    feed(randomBytes(MIB));
    await eventually(place.stored, { until: (names) => names.includes(`${key}.part`) });
    await expect(place.objects.open(key)).rejects.toThrow(ObjectMissing);
    content.push(null);
    await putting;
    expect((await stat(join(folder, key.slice(-2), key))).mode & 0o777).toBe(0o600);
  });

  it('deletes a partial object after a crash', async () => {
    const [{ content, feed }, key] = [fed(), randomUUID()];
    const putting = place.objects.put(key, content);
    feed(randomBytes(MIB));
    await eventually(place.stored, { until: (names) => names.includes(`${key}.part`) });
    await createFileObjects(folder).remove(key);
    expect(await place.stored()).not.toContain(`${key}.part`);
    content.destroy(new Error('crash'));
    await expect(putting).rejects.toThrow('crash');
  });

  it.each(['../escape', 'a/b', ''])('rejects a key that is not a file name: %j', async (key) => {
    await expect(place.objects.open(key)).rejects.toThrow('a key is one word');
  });
});

describeWith('s3', 'the object store in a bucket', () => {
  let server: RunningS3;
  let view: BucketView;
  let place: Place;
  beforeAll(async () => {
    server = await startS3();
    view = viewBucket(server);
    const { endpoint, region, bucket, accessKeyId, secretAccessKey } = server;
    const credentials = { accessKeyId, secretAccessKey };
    place = {
      objects: createS3Objects({
        endpoint,
        region,
        bucket,
        prefix: 'uploads/',
        credentials,
        pathStyle: true,
        proxy: DIRECT,
      }),
      stored: async () => [...(await view.objects()), ...(await view.unfinished())],
    };
  }, S3_START_MS);
  afterAll(async () => {
    place.objects.close();
    await server.close();
  });

  behavesAsStore(() => place);

  it('receives each part while the content is still being sent', async () => {
    const { content, feed } = fed();
    const putting = place.objects.put(randomUUID(), content);
    feed(randomBytes(11 * MIB));
    const [unfinished] = await eventually(view.unfinished, { until: (found) => found[0]?.parts === 2 });
    expect(unfinished?.parts).toBe(2);
    content.push(null);
    await putting;
    expect(await view.unfinished()).toEqual([]);
  });

  it('deletes the parts of a crashed upload', async () => {
    const [left, other] = [randomUUID(), randomUUID()];
    for (const key of [left, other]) {
      const at = { Bucket: server.bucket, Key: `uploads/${key}` };
      const { UploadId } = await view.client.send(new CreateMultipartUploadCommand(at));
      await view.client.send(new UploadPartCommand({ ...at, UploadId, PartNumber: 1, Body: randomBytes(10) }));
    }
    await place.objects.remove(left);
    expect((await view.unfinished()).map(({ key }) => key)).toEqual([`uploads/${other}`]);
    await place.objects.remove(other);
  });

  it('fails while the server is unavailable and works again afterwards', async () => {
    const key = randomUUID();
    await server.kill();
    const put = () => place.objects.put(key, Readable.from([Buffer.from('x')]));
    await expect(put()).rejects.toThrow();
    await expect(place.objects.open(key)).rejects.not.toThrow(ObjectMissing);
    await server.restart();
    await put();
    expect(String(await buffer(await place.objects.open(key)))).toBe('x');
  });

  it('does not report a wrong key as a missing object', async () => {
    const { S3_ENDPOINT: endpoint, S3_REGION: region, S3_BUCKET: bucket } = s3Environment(server);
    const credentials = { accessKeyId: server.accessKeyId, secretAccessKey: 'wrong' };
    const wrongKey = createS3Objects({
      endpoint,
      region,
      bucket,
      prefix: '',
      credentials,
      pathStyle: true,
      proxy: DIRECT,
    });
    await expect(wrongKey.open('x')).rejects.not.toThrow(ObjectMissing);
    wrongKey.close();
  });
});
