import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { CreateMultipartUploadCommand, UploadPartCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { describeWith, type RunningS3, S3_START_MS, startS3 } from '@uswarm/testkit';
import { eventually } from '../../../test/eventually.js';
import { type BucketView, s3Environment, viewBucket } from '../../../test/s3.js';
import { createFileObjects } from './file-objects.js';
import { ObjectMissing, type ObjectStore } from './object-store.js';
import { createS3Objects } from './s3-objects.js';

const MIB = 1024 * 1024;

interface Place {
  objects: ObjectStore;
  /** Everything that is stored, finished or not. */
  stored: () => Promise<unknown[]>;
}

/** Content that the test feeds, ends or fails. */
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

  it.each([0, 1, 5 * MIB, 5 * MIB + 1, 12 * MIB])('gives back the %d bytes that it was given', async (size) => {
    const content = randomBytes(size);
    expect((await read(await put(content))).equals(content)).toBe(true);
  });

  it('gives a part of an object', async () => {
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
    ['before anything was stored', MIB],
    ['with the first part stored', 7 * MIB],
  ])('keeps nothing of a content that fails %s', async (_when, size) => {
    const before = await place().stored();
    const { content, feed } = fed();
    const putting = place().objects.put(randomUUID(), content);
    feed(randomBytes(size));
    await eventually(
      () => content.readableLength,
      (left) => left === 0,
    );
    content.destroy(new Error('broken off'));
    await expect(putting).rejects.toThrow('broken off');
    expect(await place().stored()).toEqual(before);
  });
}

describe('the folder', () => {
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

  it('shows an object under its name only when all of it is there, and to its owner alone', async () => {
    const [{ content, feed }, key] = [fed(), randomUUID()];
    const putting = place.objects.put(key, content);
    feed(randomBytes(MIB));
    await eventually(place.stored, (names) => names.includes(`${key}.part`));
    await expect(place.objects.open(key)).rejects.toThrow(ObjectMissing);
    content.push(null);
    await putting;
    expect((await stat(join(folder, key.slice(-2), key))).mode & 0o777).toBe(0o600);
  });

  it('forgets what a crash left half written', async () => {
    const [{ content, feed }, key] = [fed(), randomUUID()];
    const putting = place.objects.put(key, content);
    feed(randomBytes(MIB));
    await eventually(place.stored, (names) => names.includes(`${key}.part`));
    await createFileObjects(folder).remove(key);
    expect(await place.stored()).not.toContain(`${key}.part`);
    content.destroy(new Error('crash'));
    await expect(putting).rejects.toThrow('crash');
  });

  it.each(['../escape', 'a/b', ''])('takes no key that leads elsewhere: %j', async (key) => {
    await expect(place.objects.open(key)).rejects.toThrow('a key is one word');
  });
});

describeWith('s3', 'the bucket', () => {
  let server: RunningS3;
  let view: BucketView;
  let place: Place;
  beforeAll(async () => {
    server = await startS3();
    view = viewBucket(server);
    const { endpoint, region, bucket, accessKeyId, secretAccessKey } = server;
    const credentials = { accessKeyId, secretAccessKey };
    place = {
      objects: createS3Objects({ endpoint, region, bucket, prefix: 'uploads/', credentials, pathStyle: true }),
      stored: async () => [...(await view.objects()), ...(await view.unfinished())],
    };
  }, S3_START_MS);
  afterAll(async () => {
    place.objects.close();
    await server.close();
  });

  behavesAsStore(() => place);

  it('gets each part while the content still comes in', async () => {
    const { content, feed } = fed();
    const putting = place.objects.put(randomUUID(), content);
    feed(randomBytes(11 * MIB));
    const [unfinished] = await eventually(view.unfinished, (found) => found[0]?.parts === 2);
    expect(unfinished?.parts).toBe(2);
    content.push(null);
    await putting;
    expect(await view.unfinished()).toEqual([]);
  });

  it('is rid of the parts that a crash left', async () => {
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

  it('does not take a wrong key for an object that is not there', async () => {
    const { S3_ENDPOINT: endpoint, S3_REGION: region, S3_BUCKET: bucket } = s3Environment(server);
    const credentials = { accessKeyId: server.accessKeyId, secretAccessKey: 'wrong' };
    const stranger = createS3Objects({ endpoint, region, bucket, prefix: '', credentials, pathStyle: true });
    await expect(stranger.open('x')).rejects.not.toThrow(ObjectMissing);
    stranger.close();
  });
});
