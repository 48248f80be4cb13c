//! SVG to PNG, with a font of the machine.

use std::sync::Arc;

use resvg::{
    tiny_skia::{Pixmap, Transform},
    usvg::{Options, Tree, fontdb},
};

/// Pixels for each unit of a plot.
const ZOOM: f32 = 2.0;

/// The font families in the order in which they are tried: those of Debian and others.
const FAMILIES: [&str; 4] = ["DejaVu Sans", "Liberation Sans", "Noto Sans", "Open Sans"];

/// The fonts of this machine.
pub(super) struct Fonts(Arc<fontdb::Database>);

impl Fonts {
    /// Finds a font without serifs.
    ///
    /// # Errors
    /// There is none. The text says what to install.
    pub(super) fn find() -> Result<Self, &'static str> {
        let mut fonts = fontdb::Database::new();
        fonts.load_system_fonts();
        let is_there = |family: &&&str| {
            let names = fonts.faces().flat_map(|face| &face.families);
            names.into_iter().any(|(name, _)| name == **family)
        };
        let family = FAMILIES.iter().find(is_there);
        let family = family.ok_or("no font for them; Debian package: fonts-dejavu-core")?;
        fonts.set_sans_serif_family(*family);
        Ok(Self(Arc::new(fonts)))
    }

    /// Draws the picture and returns the file.
    pub(super) fn draw(&self, svg: &str) -> Result<Vec<u8>, String> {
        let options = Options {
            fontdb: Arc::clone(&self.0),
            font_family: "sans-serif".into(),
            ..Options::default()
        };
        let tree = Tree::from_str(svg, &options).map_err(|error| error.to_string())?;
        let size = tree
            .size()
            .to_int_size()
            .scale_by(ZOOM)
            .ok_or("it is too large")?;
        let mut pixels = Pixmap::new(size.width(), size.height()).ok_or("it is too large")?;
        resvg::render(
            &tree,
            Transform::from_scale(ZOOM, ZOOM),
            &mut pixels.as_mut(),
        );
        pixels.encode_png().map_err(|error| error.to_string())
    }
}
