import type { Clock, Logger } from '@uswarm/service-kit';
import type { Database } from '../../database/database.js';
import { deviceHandlers } from './devices.routes.js';
import { createDeviceService } from './devices.service.js';
import { createDeviceStore } from './devices.store.js';

export interface DevicesModuleDeps {
  database: Database;
  clock: Clock;
  logger: Logger;
}

export function createDevicesModule({ database, clock, logger }: DevicesModuleDeps) {
  const service = createDeviceService({ store: createDeviceStore(database), clock, logger });
  return { service, routes: deviceHandlers(service) };
}
