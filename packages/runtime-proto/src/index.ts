export * from './gen/uswarm/runtime/v1/runtime_pb.js';
export * as health from './gen/grpc/health/v1/health_pb.js';
