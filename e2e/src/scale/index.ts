export { measureScale, type ScaleOptions } from './measure.js';
export type { ScaleReport } from './report.js';
