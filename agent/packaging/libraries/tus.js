// Client of the tus protocol: uploads that continue after a lost connection or a reload.
export { Upload } from "tus-js-client";
