import { ApiError } from '@uswarm/contract';
import { initializedCounter, type Registry } from '@uswarm/service-kit';
import { Gauge } from 'prom-client';
import type { UploadService } from './uploads.service.js';

export function measureUploads(service: UploadService, registry: Registry): UploadService {
  const uploads = initializedCounter(registry, 'uswarm_uploads_total', 'Total uploads by outcome.', {
    outcome: ['stored', 'refused', 'failed'],
  });
  const bytes = initializedCounter(registry, 'uswarm_upload_bytes_total', 'Total bytes of stored uploads.', {});
  const inProgress = new Gauge({
    name: 'uswarm_uploads_in_progress',
    help: 'Uploads in progress.',
    registers: [registry],
  });
  return {
    ...service,
    async receive(owner, file) {
      inProgress.inc();
      try {
        const attachment = await service.receive(owner, file);
        uploads.inc({ outcome: 'stored' });
        bytes.inc(attachment.size);
        return attachment;
      } catch (error) {
        const refused = error instanceof ApiError && error.status < 500;
        uploads.inc({ outcome: refused ? 'refused' : 'failed' });
        throw error;
      } finally {
        inProgress.dec();
      }
    },
  };
}
