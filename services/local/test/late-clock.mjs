// Loaded into a service with `--import`: its clock differs by CLOCK_OFFSET_MS.
const offset = Number(process.env.CLOCK_OFFSET_MS);
const Real = Date;

globalThis.Date = class extends Real {
  constructor(...parts) {
    if (parts.length === 0) super(Real.now() + offset);
    else super(...parts);
  }
  static now() {
    return Real.now() + offset;
  }
};
