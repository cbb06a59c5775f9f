import type { Clock, Logger } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../../config.js';
import type { Database } from '../../platform/database/database.js';
import { deviceHandlers } from './devices.routes.js';
import { createDeviceService } from './devices.service.js';

export interface DevicesModuleDeps {
  config: Pick<OrchestratorConfig, 'WEB_PUSH_PRIVATE_HOSTS'>;
  database: Database;
  clock: Clock;
  logger: Logger;
}

export function createDevicesModule({ config, database, clock, logger }: DevicesModuleDeps) {
  const privateHosts = config.WEB_PUSH_PRIVATE_HOSTS;
  const service = createDeviceService({ database, privateHosts, clock, logger });
  return { service, routes: deviceHandlers(service) };
}
