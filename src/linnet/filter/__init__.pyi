from linnet.filter.filtering import filter_corpus as filter_corpus
from linnet.filter.ranking import Sketch as Sketch
from linnet.filter.settings import Rule as Rule
