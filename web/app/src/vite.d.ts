/** Style sheets are imported so that the build emits them as files. */
declare module "*.css";

/** Build-time constants. */
interface ImportMeta {
  readonly env: { readonly PROD: boolean };
}
