import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type RunningS3, S3_START_MS, startS3 } from '@uswarm/dev-servers';
import { describeWith } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { type BucketView, s3Environment, viewBucket } from '../../../test/s3.js';
import { startTestOrchestrator, type TestOrchestrator, type TestUser } from '../../../test/test-orchestrator.js';
import { beginUpload, download, formOf, upload, uploadRefusal } from '../../../test/uploads.js';

const MIB = 1024 * 1024;

describeWith('s3', 'uploads in a bucket', () => {
  let server: RunningS3;
  let view: BucketView;
  let uswarm: TestOrchestrator;
  let user: TestUser;
  beforeAll(async () => {
    server = await startS3();
    view = viewBucket(server);
    uswarm = await startTestOrchestrator({ environment: s3Environment(server) });
    user = await uswarm.user();
  }, S3_START_MS);
  afterAll(async () => {
    await uswarm.close();
    await server.close();
  });

  const rows = () => uswarm.database.selectFrom('uploads').select(['id', 'state']).execute();

  it('are downloaded unchanged, in full and in part', async () => {
    const content = randomBytes(12 * MIB);
    const { url, id } = await upload(user, { content });
    expect(await view.objects()).toContain(`uploads/${id}`);
    expect((await download(uswarm.url, url)).bytes.equals(content)).toBe(true);
    const part = await download(uswarm.url, url, { range: 'bytes=6000000-6000009' });
    expect({ status: part.status, isEqual: part.bytes.equals(content.subarray(6_000_000, 6_000_010)) }).toEqual({
      status: 206,
      isEqual: true,
    });
  });

  it('are streamed while they are received, and leave nothing after an abort', async () => {
    const [objects, before] = [await view.objects(), await rows()];
    const begun = await beginUpload(uswarm.url, user);
    await begun.send(randomBytes(11 * MIB));
    const [unfinished] = await eventually(view.unfinished, { until: (found) => found[0]?.parts === 2 });
    expect(unfinished?.parts).toBe(2);
    begun.breakOff();
    expect(await eventually(rows, { until: (left) => left.length === before.length })).toEqual(before);
    expect({ objects: await view.objects(), unfinished: await view.unfinished() }).toEqual({ objects, unfinished: [] });
  });

  it('leave nothing when they are too large', async () => {
    const [objects, before] = [await view.objects(), await rows()];
    const form = await formOf({ content: Buffer.alloc(25 * MIB + 1) });
    expect(await uploadRefusal(user, form)).toBe('upload_too_large');
    expect({ rows: await rows(), objects: await view.objects(), unfinished: await view.unfinished() }).toEqual({
      rows: before,
      objects,
      unfinished: [],
    });
  });

  it('fail with a retryable error while the bucket is unavailable, like downloads', async () => {
    const { url } = await upload(user, { content: 'kept' });
    const form = await formOf({ content: 'x' });
    await server.kill();
    expect(await uploadRefusal(user, form)).toBe('service_unavailable');
    expect((await download(uswarm.url, url)).status).toBe(503);
    await server.restart();
    expect((await upload(user, { content: 'x' })).size).toBe(1);
    expect(String((await download(uswarm.url, url)).bytes)).toBe('kept');
  });
});
