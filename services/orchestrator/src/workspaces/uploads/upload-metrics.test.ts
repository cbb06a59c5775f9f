import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { ApiError, type Attachment } from '@uswarm/contract';
import { Registry } from '@uswarm/service-kit';
import { measureUploads } from './upload-metrics.js';

const attachment: Attachment = {
  id: 'a',
  name: 'a.txt',
  type: 'file',
  mime_type: 'text/plain',
  size: 12,
  url: '',
  duration: null,
  width: null,
  height: null,
};
const file = {
  name: 'a.txt',
  content: Readable.from([]),
  complete: Promise.resolve(),
  received: () => 0,
  abort: () => undefined,
};

describe('uploads', () => {
  it('are counted by outcome', async () => {
    const registry = new Registry();
    const answers: (() => Promise<Attachment>)[] = [
      async () => attachment,
      () => Promise.reject(new ApiError('upload_quota_exceeded')),
      () => Promise.reject(new ApiError('service_unavailable')),
      () => Promise.reject(new Error('connection terminated')),
    ];
    const service = {
      receive: () => answers.shift()!(),
      download: () => Promise.reject(new Error('not asked')),
    };
    const measured = measureUploads(service, registry);
    for (let left = answers.length; left > 0; left -= 1)
      await measured.receive({ userId: 'u', key: undefined }, file).catch(() => undefined);
    const text = await registry.metrics();
    for (const line of [
      'uswarm_uploads_total{outcome="stored"} 1',
      'uswarm_uploads_total{outcome="refused"} 1',
      'uswarm_uploads_total{outcome="failed"} 2',
      'uswarm_upload_bytes_total 12',
      'uswarm_uploads_in_progress 0',
    ]) {
      expect(text).toContain(`${line}\n`);
    }
  });
});
